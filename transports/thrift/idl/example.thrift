namespace py answering

service Answer {
  binary call(1: binary request)
}

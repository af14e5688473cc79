namespace py example

service Answer {
  binary call(1: binary request)
}

# frozen_string_literal: true

# A Rack application as its specification has it: an object with `call`. Nothing in Puma or Rack
# sends a Date.
require "time"

lambda do |request|
  date = Time.now.httpdate
  if request["PATH_INFO"] == "/"
    headers = { "content-type" => "application/json", "token" => request["HTTP_TOKEN"].to_s, "date" => date }
    [200, headers, ['{"id": 1}']]
  else
    [404, { "content-type" => "text/plain", "content-length" => "0", "date" => date }, []]
  end
end

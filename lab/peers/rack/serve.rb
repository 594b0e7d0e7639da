# frozen_string_literal: true

# Puma with an application on a port that is free: `serve.rb APPLICATION WORKERS`, where 0 workers
# are one process, as Puma has it by default. Threads and queues are those of the defaults.
require "puma"
require "puma/configuration"
require "puma/events"
require "puma/launcher"

application, workers = ARGV
application = eval(File.read(application), TOPLEVEL_BINDING, application) # rubocop:disable Security/Eval

configuration = Puma::Configuration.new do |config|
  config.bind "tcp://127.0.0.1:0"
  config.workers Integer(workers)
  config.environment "production"
  config.app application
end

events = Puma::Events.new(StringIO.new, $stderr)
launcher = Puma::Launcher.new(configuration, events: events)
events.on_booted do
  $stdout.puts "READY #{launcher.connected_ports.first}"
  $stdout.flush
end

# The lab ends with this input.
Thread.new do
  $stdin.read
  launcher.stop
end
launcher.run

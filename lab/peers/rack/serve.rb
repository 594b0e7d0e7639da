# frozen_string_literal: true

# Puma with an application on a port that is free: `serve.rb APPLICATION WORKERS`, where 0 workers
# are one process, as Puma has it by default.
#
# Puma closes a connection that has asked ten times in a row when all its threads are busy and
# somebody waits to be accepted, so that all get their turn. The lab's connections stay, so each has
# a thread, and Puma is told to leave them alone.
require "puma"
require "puma/configuration"
require "puma/events"
require "puma/launcher"

# For the lab's questions on connections of their own.
SPARE_THREADS = 8

application, workers = ARGV
application = eval(File.read(application), TOPLEVEL_BINDING, application) # rubocop:disable Security/Eval

configuration = Puma::Configuration.new do |config|
  config.bind "tcp://127.0.0.1:0"
  config.workers Integer(workers)
  threads = Integer(ENV.fetch("CONNECTIONS")) + SPARE_THREADS
  config.threads threads, threads
  config.max_fast_inline Float::INFINITY
  # Connections that stay would be waited for.
  config.force_shutdown_after :immediately
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

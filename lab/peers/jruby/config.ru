# frozen_string_literal: true

# The application of `rack`, deployed in a servlet container by jruby-rack. A body without a length
# would be flushed part by part, and Jetty would send it in chunks.
use Rack::ContentLength
application = File.expand_path("../rack/rack.rb", __dir__)
run eval(File.read(application), TOPLEVEL_BINDING, application) # rubocop:disable Security/Eval

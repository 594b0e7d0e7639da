# frozen_string_literal: true

# A Rails application for an interface without pages: one route, one controller, and the middleware
# that `rails new --api` leaves in. Nothing in Rails sends a Date.
require "time"
require "rails"
require "action_controller/railtie"

class DocumentsController < ActionController::API
  def show
    response.headers["Token"] = request.headers["Token"].to_s
    response.headers["Date"] = Time.now.httpdate
    render json: { id: 1 }
  end
end

class Documents < Rails::Application
  config.load_defaults 6.1
  config.api_only = true
  config.eager_load = true
  config.consider_all_requests_local = false
  config.secret_key_base = "the lab keeps no secrets"
  config.logger = Logger.new(IO::NULL)
  config.log_level = :warn
  config.hosts.clear
  # Without a length Puma would send the body in chunks.
  config.middleware.insert_before 0, Rack::ContentLength
  config.root = __dir__
  config.paths["log"] = ["build/log"]
  routes.append { root to: "documents#show" }
end

Documents.initialize!
Documents

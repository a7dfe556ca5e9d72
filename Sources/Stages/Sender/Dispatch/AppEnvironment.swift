package import Identifiers

/// An app in one environment.
package struct AppEnvironment: Hashable, Sendable {
    package let app: String
    package let environment: Environment

    package init(app: String, environment: Environment) {
        self.app = app
        self.environment = environment
    }
}

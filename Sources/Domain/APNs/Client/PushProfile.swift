package import Identifiers

/// The sender of pushes, as APNs knows it: one app in one environment, with the key that signs for it. Apple
/// binds a connection to all three, so each profile has its own pool.
package struct PushProfile: Hashable, Sendable {
    package let environment: Environment
    package let bundleID: String
    package let key: ProviderKeyName

    package init(environment: Environment, bundleID: String, key: ProviderKeyName) {
        self.environment = environment
        self.bundleID = bundleID
        self.key = key
    }
}

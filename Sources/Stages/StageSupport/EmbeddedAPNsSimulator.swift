internal import Lifecycle

/// The simulated APNs of this process, as the sender sees it: the place where the simulator publishes its addresses and
/// keys. The sender reads them once, when it starts, and then pushes to the simulator and not to Apple. So the simulator
/// must start first. A sender that finds nothing here pushes to Apple.
package final class EmbeddedAPNsSimulator: Sendable {
    /// The addresses and keys for a client of the simulator.
    package struct AccessDetails: Sendable {
        package var host: String
        package var productionPort: Int
        package var sandboxPort: Int
        /// The file with the certificate authority of the simulator.
        package var authorityFile: String
        /// The team, key id and key file of the provider tokens that the simulator accepts.
        package var teamID: String
        package var keyID: String
        package var keyFile: String

        package init(
            host: String, productionPort: Int, sandboxPort: Int, authorityFile: String, teamID: String,
            keyID: String, keyFile: String
        ) {
            self.host = host
            self.productionPort = productionPort
            self.sandboxPort = sandboxPort
            self.authorityFile = authorityFile
            self.teamID = teamID
            self.keyID = keyID
            self.keyFile = keyFile
        }
    }

    private let state = TracedLock<AccessDetails?>(nil)

    package init() {}

    /// The simulator's addresses and keys. Nil until it serves.
    package var accessDetails: AccessDetails? { state.withLock { $0 } }

    /// Sets the details when the simulator serves.
    package func publish(_ details: AccessDetails) { state.withLock { $0 = details } }
}

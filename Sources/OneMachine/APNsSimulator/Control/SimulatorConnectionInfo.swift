package import Lifecycle
package import LiveActivity

/// The facts about a running simulator that its operator needs.
package struct SimulatorConnectionInfo: Sendable {
    package let host: String
    package let ports: SimulatorSettings.Ports
    package let control: SocketAddress
    package let tlsFaults: [(fault: TLSFault, port: Int)]
    package let directory: String
    package let keyID: String
    package let population: Population?
    /// A start token of the first phone.
    package let firstToken: PushToken?

    package var teamID: String { SimulatorCredentials.teamID }
    /// The CA certificate that clients must trust.
    package var authorityFile: String { directory + "/ca.pem" }
    /// The key for provider tokens.
    package var keyFile: String { directory + "/AuthKey_\(keyID).p8" }
}

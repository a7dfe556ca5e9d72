package import Identifiers
package import Lifecycle

/// The facts with which a client connects to a running simulator: ports, keys and files.
package struct SimulatorConnectionInfo: Sendable {
    package let host: String
    package let ports: SimulatorSettings.Ports
    /// Address of the control API.
    package let controlAddress: SocketAddress
    package let tlsFaults: [TLSFaultListener]
    /// Directory of the credentials.
    package let credentialsDirectory: String
    package let keyID: String
    /// The phones of the settings, or the first ones of the portal file.
    package let population: Population?
    /// A start token of the first phone.
    package let firstToken: PushToken?

    package var teamID: String { SimulatorCredentials.teamID }
    /// The CA certificate that clients must trust.
    package var authorityFile: String { credentialsDirectory + "/ca.pem" }
    /// The key for provider tokens.
    package var keyFile: String { credentialsDirectory + "/AuthKey_\(keyID).p8" }
}

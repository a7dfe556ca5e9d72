/// The operator's settings for the connection to a cluster. A plain value: reading it starts nothing.
package struct KafkaSettings: Sendable {
    package enum SecurityProtocol: String, Sendable, CaseIterable {
        case plaintext
        case tls
        case scramOverTLS = "scram-tls"
        case scramOverPlaintext = "scram-plaintext"

        var usesTLS: Bool { self == .tls || self == .scramOverTLS }
        var usesSCRAM: Bool { self == .scramOverTLS || self == .scramOverPlaintext }

        /// The library's name of the protocol.
        var protocolName: String {
            switch self {
            case .plaintext: "plaintext"
            case .tls: "ssl"
            case .scramOverTLS: "sasl_ssl"
            case .scramOverPlaintext: "sasl_plaintext"
            }
        }
    }

    package enum SCRAMMechanism: String, Sendable, CaseIterable {
        case sha256 = "SCRAM-SHA-256"
        case sha512 = "SCRAM-SHA-512"
    }

    /// The bootstrap brokers, each as `host:port`. The first broker that answers names all others.
    package var brokers: [String]
    package var clientID = "flotilla"
    package var security = SecurityProtocol.plaintext
    /// A PEM file. Nil uses the machine's certificate authorities.
    package var certificateAuthorityFile: String?
    /// PEM files with the client certificate and its key, for brokers that require one. Set both or neither.
    package var certificateFile: String?
    package var keyFile: String?
    /// A file with the password of the key, if the key is encrypted.
    package var keyPasswordFile: String?
    package var scramMechanism = SCRAMMechanism.sha512
    /// The SCRAM user, and a file with the password.
    package var user: String?
    package var passwordFile: String?
    /// Further properties of the client library, by their librdkafka names.
    package var properties: [String: String] = [:]

    package init(brokers: [String]) { self.brokers = brokers }
}

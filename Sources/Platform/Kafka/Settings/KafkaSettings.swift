/// The operator's settings for the connection to a cluster. A plain value: reading it starts nothing.
package struct KafkaSettings: Sendable {
    package enum SecurityProtocol: String, Sendable, CaseIterable {
        case plaintext
        case tls
        case scramOverTLS = "scram-tls"
        case scramOverPlaintext = "scram-plaintext"

        var usesTLS: Bool { self == .tls || self == .scramOverTLS }
        var usesSCRAM: Bool { self == .scramOverTLS || self == .scramOverPlaintext }

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

    /// Bootstrap brokers, each as `host:port`. A broker that answers names the others.
    package var brokers: [String]
    package var clientID = "flotilla"
    package var security = SecurityProtocol.plaintext
    /// A PEM file. Nil uses the machine's certificate authorities.
    package var certificateAuthorityFile: String?
    /// PEM files with the client certificate and its key, for brokers that require one. Set both or neither.
    package var certificateFile: String?
    package var keyFile: String?
    package var keyPasswordFile: String?
    package var scramMechanism = SCRAMMechanism.sha512
    package var user: String?
    package var passwordFile: String?
    /// Further properties of the client library, by their librdkafka names.
    package var properties: [String: String] = [:]

    package init(brokers: [String]) { self.brokers = brokers }
}

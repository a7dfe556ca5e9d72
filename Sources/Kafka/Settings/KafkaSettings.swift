/// How to reach a cluster, as the operator's settings say it. A value: reading it starts nothing.
package struct KafkaSettings: Sendable {
    package enum Security: String, Sendable, CaseIterable {
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

    package enum SCRAM: String, Sendable, CaseIterable {
        case sha256 = "SCRAM-SHA-256"
        case sha512 = "SCRAM-SHA-512"
    }

    /// `host:port` each; those that answer name the others.
    package var brokers: [String]
    package var clientID = "flotilla"
    package var security = Security.plaintext
    /// PEM; without it the machine's own certificate authorities.
    package var certificateAuthorityFile: String?
    /// PEM, both or neither: who we are, to brokers that ask for it.
    package var certificateFile: String?
    package var keyFile: String?
    package var keyPasswordFile: String?
    package var scram = SCRAM.sha512
    package var user: String?
    package var passwordFile: String?
    /// Further properties of the client library, by its own names.
    package var properties: [String: String] = [:]

    package init(brokers: [String]) { self.brokers = brokers }
}

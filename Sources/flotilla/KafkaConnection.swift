internal import Kafka
internal import Settings

extension KafkaSettings.Security: SettingValue {}
extension KafkaSettings.SCRAM: SettingValue {}

/// The settings that say how to reach a cluster. Whoever outgrows the embedded broker changes these.
extension AllSettings {
    static let kafkaBrokers = Setting(
        "kafka.brokers", default: ["127.0.0.1:9092"],
        "brokers to begin with; those that answer name the others",
        check: { $0.isEmpty ? "names no broker" : nil })
    static let kafkaSecurity = Setting(
        "kafka.security.protocol", default: KafkaSettings.Security.plaintext,
        "how connections to Kafka are secured")
    static let kafkaCA = Setting(
        "kafka.ca-file", default: String?.none,
        "PEM file of the authorities that may vouch for brokers; else the system's")
    static let kafkaCertificate = Setting(
        "kafka.certificate-file", default: String?.none, "PEM file of the certificate that we show to brokers"
    )
    static let kafkaKey = Setting(
        "kafka.key-file", default: String?.none, "PEM file of that certificate's private key")
    static let kafkaKeyPassword = Setting(
        "kafka.key-password-file", default: String?.none, "file with the password of that private key")
    static let kafkaSCRAM = Setting(
        "kafka.scram.mechanism", default: KafkaSettings.SCRAM.sha512,
        "the SCRAM mechanism of kafka.scram.user")
    static let kafkaUser = Setting("kafka.scram.user", default: String?.none, "the user name for SCRAM")
    static let kafkaPassword = Setting(
        "kafka.scram.password-file", default: String?.none, "file with that user's password")
    static let kafkaProperties = Setting(
        "kafka.properties", default: "",
        "further librdkafka properties, each name=value, separated by semicolons",
        check: { pairs(in: $0) == nil ? "must be name=value, separated by semicolons" : nil })

    /// Nil when one of them has no equals sign. Values may hold commas.
    static func pairs(in text: String) -> [(name: String, value: String)]? {
        var found: [(name: String, value: String)] = []
        for part in text.split(separator: ";") {
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2, !sides[0].isEmpty else { return nil }
            found.append((String(sides[0].drop { $0 == " " }), String(sides[1])))
        }
        return found
    }

    static let kafka: [Declaration] = [
        kafkaBrokers.declaration, kafkaSecurity.declaration, kafkaCA.declaration,
        kafkaCertificate.declaration,
        kafkaKey.declaration, kafkaKeyPassword.declaration, kafkaSCRAM.declaration, kafkaUser.declaration,
        kafkaPassword.declaration, kafkaProperties.declaration,
    ]
}

extension KafkaSettings {
    init(_ settings: ResolvedSettings) {
        self.init(brokers: settings[AllSettings.kafkaBrokers])
        security = settings[AllSettings.kafkaSecurity]
        certificateAuthorityFile = settings[AllSettings.kafkaCA]
        certificateFile = settings[AllSettings.kafkaCertificate]
        keyFile = settings[AllSettings.kafkaKey]
        keyPasswordFile = settings[AllSettings.kafkaKeyPassword]
        scram = settings[AllSettings.kafkaSCRAM]
        user = settings[AllSettings.kafkaUser]
        passwordFile = settings[AllSettings.kafkaPassword]
        for (name, value) in AllSettings.pairs(in: settings[AllSettings.kafkaProperties]) ?? [] {
            properties[name] = value
        }
    }
}

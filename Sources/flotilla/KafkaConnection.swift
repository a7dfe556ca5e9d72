package import Kafka
package import Settings

extension KafkaSettings.Security: SettingValue {}
extension KafkaSettings.SCRAM: SettingValue {}

/// How to reach a cluster. Whoever outgrows the embedded broker changes these.
extension KafkaSettings: OperatorSettings {
    package static let declared = SettingsGroup(
        "kafka", defaults: KafkaSettings(brokers: ["127.0.0.1:9092"])
    ) { declare in
        declare(
            "brokers", sets: \.brokers, "brokers to begin with; those that answer name the others",
            check: { $0.isEmpty ? "names no broker" : nil })
        declare("security.protocol", sets: \.security, "how connections to Kafka are secured")
        declare(
            "ca-file", sets: \.certificateAuthorityFile,
            "PEM file of the authorities that may vouch for brokers; else the system's")
        declare(
            "certificate-file", sets: \.certificateFile,
            "PEM file of the certificate that we show to brokers")
        declare("key-file", sets: \.keyFile, "PEM file of that certificate's private key")
        declare("key-password-file", sets: \.keyPasswordFile, "file with the password of that private key")
        declare("scram.mechanism", sets: \.scram, "the SCRAM mechanism of kafka.scram.user")
        declare("scram.user", sets: \.user, "the user name for SCRAM")
        declare("scram.password-file", sets: \.passwordFile, "file with that user's password")
        declare(
            "properties", sets: \.propertiesText,
            "further librdkafka properties, each name=value, separated by semicolons",
            check: { Self.pairs(in: $0) == nil ? "must be name=value, separated by semicolons" : nil })
    }

    private var propertiesText: String {
        get { properties.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: ";") }
        set {
            for (name, value) in Self.pairs(in: newValue) ?? [] { properties[name] = value }
        }
    }

    /// Nil when one of them has no equals sign. Values may hold commas.
    private static func pairs(in text: String) -> [(name: String, value: String)]? {
        var found: [(name: String, value: String)] = []
        for part in text.split(separator: ";") {
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard sides.count == 2, !sides[0].isEmpty else { return nil }
            found.append((String(sides[0].drop { $0 == " " }), String(sides[1])))
        }
        return found
    }
}

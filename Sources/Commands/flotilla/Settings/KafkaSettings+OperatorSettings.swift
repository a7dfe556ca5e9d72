package import Kafka
package import Settings

extension KafkaSettings.SecurityProtocol: SettingValue {}
extension KafkaSettings.SCRAMMechanism: SettingValue {}

/// The settings of the connection to a cluster. An operator changes them to move from the embedded broker to
/// Apache Kafka.
extension KafkaSettings: OperatorSettings {
    package static let declared = SettingsGroup(
        prefix: "kafka", defaults: KafkaSettings(brokers: ["127.0.0.1:9092"])
    ) { declare in
        declare(
            "brokers", sets: \.brokers, "brokers for the first connection; they name the others",
            check: { $0.isEmpty ? "names no broker" : nil })
        declare("security.protocol", sets: \.security, "security of connections to Kafka")
        declare(
            "ca-file", sets: \.certificateAuthorityFile,
            "PEM file of the CAs that sign the brokers' certificates; the default is the system's")
        declare(
            "certificate-file", sets: \.certificateFile,
            "PEM file of the client certificate")
        declare("key-file", sets: \.keyFile, "PEM file of the client certificate's private key")
        declare("key-password-file", sets: \.keyPasswordFile, "file with the password of the private key")
        declare("scram.mechanism", sets: \.scramMechanism, "the SCRAM mechanism of kafka.scram.user")
        declare("scram.user", sets: \.user, "the user name for SCRAM")
        declare("scram.password-file", sets: \.passwordFile, "file with the password of kafka.scram.user")
        declare(
            "properties", sets: \.propertiesText,
            "additional librdkafka properties, each name=value, separated by semicolons",
            check: { Self.pairs(in: $0) == nil ? "must be name=value, separated by semicolons" : nil })
    }

    /// The properties in the form of the setting: `socket.timeout.ms=1000;fetch.min.bytes=1`.
    private var propertiesText: String {
        get { properties.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: ";") }
        set {
            for (name, value) in Self.pairs(in: newValue) ?? [] { properties[name] = value }
        }
    }

    /// Returns the pairs of a text such as `a=1;b=2`, or nil if a part has no name or no equals sign. Values
    /// may hold commas.
    private static func pairs(in text: String) -> [(name: String, value: String)]? {
        var pairs: [(name: String, value: String)] = []
        for part in text.split(separator: ";") {
            let nameAndValue = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard nameAndValue.count == 2, !nameAndValue[0].isEmpty else { return nil }
            pairs.append((String(nameAndValue[0].drop { $0 == " " }), String(nameAndValue[1])))
        }
        return pairs
    }
}

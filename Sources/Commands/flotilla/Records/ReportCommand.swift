internal import CatalogRecords
internal import Gateway
internal import JSON
internal import Kafka
internal import Lifecycle
internal import Settings
internal import Telemetry
internal import TokenSealing
internal import Topics

extension Command {
    /// `flotilla report`: checks a report and writes it directly to the topic, without the gateway, as a backend's own
    /// service may do.
    static let report = Command(
        name: "report", summary: "Writes a report to the topic by hand, as an SDK would send it.",
        usage: "JSON | --app APP --installation-id ID --kind KIND [options]",
        example:
            "flotilla report --app shop --installation-id phone-1 --kind startToken --attributes-type Match --token c0ffee",
        settings: ["topics.prefix", "tokens.", "kafka."],
        options: ReportField.all.map { CommandOption.value($0.flag, $0.help) } + [
            TokenFile.option,
            CommandOption.flag("--json", "prints one JSON object per line instead of a sentence"),
        ]
    ) { invocation in
        let body = try ReportField.reportBody(from: invocation)
        let catalog = try CatalogAccess(settings: invocation.settings)
        let keys = try SealingKeyFile.read(settings: invocation.settings, for: catalog.snapshot)
        let validated = try validate(body, in: catalog, sealingKeys: keys)
        let settings = invocation.settings[KafkaSettings.self]
        let topicName = TopicLayout(settings: invocation.settings).name(of: .reports)
        let producer = try Producer(settings: settings, name: "report", log: .silent, metrics: Metrics())
        let topic = try producer.topic(named: topicName)
        for index in 0..<validated.acceptedCount {
            let (key, value) = validated.copyRecord(at: index)
            // No partition is given, so the hash of the key decides, as it does for every other writer.
            let stored = try producer.storeRecord(
                action: "write the report", in: topic, key: key, value: value)
            if invocation.isJSON {
                let line = JSONLine.text { json in
                    json.field("topic", topicName)
                    json.field("partition", Int64(stored.partition))
                    json.field("offset", stored.offset)
                }
                print(line)
            } else {
                print("stored in \(topicName), partition \(stored.partition), offset \(stored.offset)")
            }
        }
    }

    /// Checks the report with the rules of the gateway, as for an API key of the role `admin`. Throws unless
    /// all of it is accepted. One report can become several records.
    private static func validate(
        _ body: [UInt8], in catalog: CatalogAccess, sealingKeys keys: SealingKeys?
    ) throws -> ValidatedReports {
        let validated: ValidatedReports
        do {
            let app = try JSONReader(limits: .record).read(body) { root in
                root.kind == .array ? "" : root.object()["app"].string()
            }
            if app.isEmpty {
                throw CommandError(status: .usage, "write one report at a time, and name its app")
            }
            validated = try ReportValidator(sealingKeys: keys).validate(
                body, for: catalog.app(id: app), role: .admin)
        } catch let error as JSONError {
            throw CommandError(status: .dataError, error.problems.map(\.description).joined(separator: "\n"))
        }
        if let refused = validated.refused.first {
            throw CommandError(
                status: .dataError, refused.problems.map(\.description).joined(separator: "\n"))
        }
        return validated
    }
}

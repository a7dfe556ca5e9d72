internal import IngestTesting
internal import Kafka
internal import Topics

/// The trail of one phone that does not show the newest state: what the topics and the simulated APNs have about it. A
/// failed test prints the trail, because the fleet is gone afterwards.
struct PhoneTrail {
    /// The topics whose records name an installation, in their keys, values or headers.
    private static let topicsOfInstallations: [TopicName] = [
        .registry, .jobsUrgent, .jobs, .jobsLater5s, .jobsLater2m, .receipts, .starts,
    ]
    /// The topics whose records are about a whole lane.
    private static let topicsOfLanes: [TopicName] = [.expansionsUrgent, .expansions]
    /// The groups of consumers, with the topics whose offsets they commit.
    private static let groups: [(name: String, topics: [TopicName])] = [
        ("expander", [.expansionsUrgent, .expansions, .registry]),
        ("sender", [.jobsUrgent, .jobs, .jobsLater5s, .jobsLater2m]),
    ]
    /// The newest records of each topic that are printed, and the characters of each.
    private static let recordsPerTopicMax = 20
    private static let recordCharactersMax = 700

    private let fleet: Fleet
    private let backend: FleetBackend
    /// The state that the phone should show.
    private let contentState: String

    init(to contentState: String, on fleet: Fleet, by backend: FleetBackend) {
        (self.contentState, self.fleet, self.backend) = (contentState, fleet, backend)
    }

    /// Returns the trail of the first phone that does not show the state.
    func text() async -> String {
        for number in 0..<fleet.plan.phones {
            let installation = "phone-\(number)"
            let screen = try? await backend.callSimulator(
                method: "GET", path: "/v1/phones/\(installation)")
            guard let screen, screen.status == 200, !screen.text.contains(contentState) else { continue }
            return "the trail of \(installation)\nits screen: \(screen.text)\n\(trail(of: installation))"
        }
        return "every phone shows the state now"
    }

    private func trail(of installation: String) -> String {
        var lines: [String] = []
        var lane: Int32?
        for topic in Self.topicsOfInstallations {
            let records = records(of: topic) { Self.isNamed(installation, in: $0) }
            if topic == .registry { lane = records.first?.partition }
            lines += lineList(of: records, in: topic)
        }
        guard let lane else { return lines.joined(separator: "\n") }
        for topic in Self.topicsOfLanes {
            lines += lineList(of: records(of: topic) { $0.partition == lane }, in: topic)
        }
        for group in Self.groups {
            let partitions = group.topics.map { TopicPartition(fleet.bed.layout.name(of: $0), lane) }
            let lags = try? fleet.bed.admin.lag(of: fleet.bed.layout.prefix + group.name, in: partitions)
            for lag in lags ?? [] {
                let committed = lag.committed
                lines.append(
                    "\(group.name) has committed \(committed.offset.map(String.init) ?? "nothing") of \(committed.partition), which ends at \(lag.watermarks.high) (\(committed.metadata))"
                )
            }
        }
        return lines.joined(separator: "\n")
    }

    /// Returns the newest of the records that are chosen. A topic that cannot be read has none.
    private func records(of topic: TopicName, where isChosen: (ReadRecord) -> Bool) -> [ReadRecord] {
        let records = (try? TopicContent(of: topic, in: fleet.bed).records) ?? []
        return records.filter(isChosen).suffix(Self.recordsPerTopicMax)
    }

    private func lineList(of records: [ReadRecord], in topic: TopicName) -> [String] {
        let lines = records.map { record in
            let headers = record.headers.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
            let content = ([Self.text(record.key), Self.text(record.value)] + headers).joined(
                separator: " | ")
            return
                "\(topic.rawValue)/\(record.partition) at \(record.offset), written at \(record.timestamp): \(content.prefix(Self.recordCharactersMax))"
                .replacing("\n", with: "⏎")
        }
        return lines.isEmpty ? ["\(topic.rawValue): nothing"] : lines
    }

    /// Whether a record names the installation. `phone-12` is not named by `phone-120`.
    private static func isNamed(_ installation: String, in record: ReadRecord) -> Bool {
        let texts = [text(record.key), text(record.value)] + record.headers.values
        return texts.contains { text in
            text.ranges(of: installation).contains { range in
                range.upperBound == text.endIndex || !text[range.upperBound].isNumber
            }
        }
    }

    private static func text(_ bytes: [UInt8]?) -> String {
        bytes.map { String(decoding: $0, as: UTF8.self) } ?? "-"
    }
}

internal import FoundationEssentials
internal import Glibc
internal import Kafka
internal import Lifecycle
internal import Settings
internal import Telemetry
internal import Topics

/// `flotilla replay rebuild`: removes the state files of one stage, which builds them again from their topics
/// at its next start.
struct StateRebuild {
    /// The name of the stage, and of its directory within a slot.
    let stage: String
    /// The topics that the files are built from.
    let topics: [TopicName]

    static let all = [
        StateRebuild(stage: "ingest", topics: [.installations]),
        StateRebuild(stage: "fan-out", topics: [.groups, .starts, .registry]),
        StateRebuild(stage: "scheduler", topics: [.timers]),
        StateRebuild(
            stage: "insight",
            topics: [.receipts, .events, .progress, .groups, .installations, .timers, .audit, .auditSends]),
    ]

    /// Removes the state files after a question. The slots stay locked until the files are gone, so that no
    /// process can start to use them.
    func run(under slotsDirectory: String, for invocation: Invocation) throws {
        let slots = try ProcessSlot.allExisting(under: slotsDirectory)
        for case .held(let path) in slots where FileManager.default.fileExists(atPath: "\(path)/\(stage)") {
            throw CommandError(
                status: .temporary, "a running process uses \(path)/\(stage); stop it and try again")
        }
        let directories = slots.compactMap { entry -> String? in
            guard case .free(let slot) = entry else { return nil }
            let path = "\(slot.path)/\(stage)"
            return FileManager.default.fileExists(atPath: path) ? path : nil
        }
        guard !directories.isEmpty else {
            return print("there are no state files of \(stage) under \(slotsDirectory)")
        }
        let recordCount = (try? countRecords(settings: invocation.settings)).map { "at most \($0)" } ?? "the"
        print(
            Table(
                headers: ["state of \(stage)", "bytes"],
                rows: directories.map { [$0, String(byteCount(of: $0))] }
            )
            .text)
        print(
            "They will be removed, and built again from \(recordCount) records of \(topics.map(\.rawValue).joined(separator: ", "))."
        )
        if invocation.isDryRun { return }
        try invocation.confirm(orElse: "nothing was removed")
        for (index, directory) in directories.enumerated() {
            do {
                try FileManager.default.removeItem(atPath: directory)
            } catch {
                throw CommandError(
                    status: .cannotCreate, "cannot remove \(directory); the files before it are removed")
            }
            print("removed \(index + 1) of \(directories.count): \(directory)")
        }
    }

    /// Returns the number of offsets of the topics: an upper bound, because compaction has removed some
    /// records. Throws if the broker stopped together with the stage.
    private func countRecords(settings: ResolvedSettings) throws -> Int64 {
        let layout = TopicLayout(settings: settings)
        let admin = try AdminClient(settings: settings[KafkaSettings.self], log: .silent, metrics: Metrics())
        try layout.require(topics, on: admin)
        var offsetCount: Int64 = 0
        for topic in topics {
            for partition in 0..<Int32(layout.partitionCount(of: topic)) {
                let watermarks = try admin.watermarks(of: TopicPartition(layout.name(of: topic), partition))
                offsetCount += watermarks.high - watermarks.low
            }
        }
        return offsetCount
    }

    private func byteCount(of directory: String) -> Int {
        let files = (try? FileManager.default.subpathsOfDirectory(atPath: directory)) ?? []
        return files.reduce(0) { sum, file in
            var status = stat()
            return unsafe lstat("\(directory)/\(file)", &status) == 0 ? sum + Int(status.st_size) : sum
        }
    }
}

internal import Foundation
internal import Kafka
internal import Lifecycle
internal import Settings
internal import Telemetry
internal import Topics

extension Command {
    /// For operators in trouble. What it does has no effect outside: it throws away files that are copies
    /// of topics, and the stage makes them anew.
    static let replay = Command(
        name: "replay",
        summary: "Rebuilds a stage's state files from their topic at its next start.",
        usage: "rebuild --stage \(Rebuild.all.map(\.stage).joined(separator: "|")) [--data DIR] [--yes]",
        example: "flotilla replay rebuild --stage ingest --data /var/lib/flotilla",
        namespace: "run", settings: ["run.data", "topics.", "kafka."],
        options: [
            ("--stage", true, "whose state: \(Rebuild.all.map(\.stage).joined(separator: ", "))"),
            ("--yes", false, "does it without asking"),
        ]
    ) { invocation in
        guard invocation.words == ["rebuild"] else {
            throw Refusal(status: .usage, "say what to replay: rebuild")
        }
        let known = Rebuild.all.map(\.stage).joined(separator: " or ")
        guard let rebuild = Rebuild.all.first(where: { $0.stage == invocation.options["--stage"] }) else {
            throw Refusal(status: .usage, "name the stage with --stage: \(known)")
        }
        let named = invocation.settings[RunSettings.self].data
        let data = named.isEmpty ? try DataDirectory.ofUser() : named
        try rebuild.run(under: data + "/slots", invocation)
    }
}

/// The state files of one stage, and the topic that they are made of.
private struct Rebuild {
    let stage: String
    /// Within a slot.
    let directory: String
    let topic: TopicName

    static let all = [
        Rebuild(stage: "ingest", directory: "ingest", topic: .installations),
        Rebuild(stage: "registry", directory: "registry", topic: .registry),
        Rebuild(stage: "fan-out", directory: "fan-out", topic: .groups),
    ]

    /// The slots stay locked until the files are gone: no process can begin to use them meanwhile.
    func run(under slots: String, _ invocation: Invocation) throws {
        let found = try Slot.all(under: slots)
        for case .held(let path) in found where FileManager.default.fileExists(atPath: "\(path)/\(directory)")
        {
            throw Refusal(
                status: .temporary, "a running process uses \(path)/\(directory); stop it and call this again"
            )
        }
        let files = found.compactMap { entry -> String? in
            guard case .free(let slot) = entry else { return nil }
            let path = "\(slot.path)/\(directory)"
            return FileManager.default.fileExists(atPath: path) ? path : nil
        }
        guard !files.isEmpty else { return print("there are no state files of \(stage) under \(slots)") }
        let records = (try? records(invocation.settings)).map { "at most \($0)" } ?? "the"
        print(Table(["state of \(stage)", "bytes"], files.map { [$0, String(bytes(of: $0))] }).text)
        print("They are removed, and made anew from \(records) records of \(topic.rawValue).")
        guard invocation.options["--yes"] != nil || isConfirmed() else {
            throw Refusal(status: .usage, "nothing was removed; --yes does it without asking")
        }
        for (index, file) in files.enumerated() {
            do {
                try FileManager.default.removeItem(atPath: file)
            } catch {
                throw Refusal(status: .cannotCreate, "cannot remove \(file); what went before it is done")
            }
            print("removed \(index + 1) of \(files.count): \(file)")
        }
    }

    /// Offsets of the topic: its records, and those that compaction has taken out. A broker that stopped
    /// together with the stage cannot be asked.
    private func records(_ settings: ResolvedSettings) throws -> Int64 {
        let layout = TopicLayout(settings)
        let admin = try Admin(settings[KafkaSettings.self], log: .silent, metrics: Metrics())
        try layout.require([topic], on: admin)
        return try (0..<layout.partitions(topic)).reduce(0) { sum, partition in
            let marks = try admin.watermarks(of: TopicPartition(layout.name(topic), Int32(partition)))
            return sum + marks.high - marks.low
        }
    }

    private func bytes(of directory: String) -> Int {
        let files = FileManager.default.enumerator(atPath: directory)
        var sum = 0
        while files?.nextObject() != nil {
            sum += (files?.fileAttributes?[.size] as? NSNumber)?.intValue ?? 0
        }
        return sum
    }

    private func isConfirmed() -> Bool {
        print("Go on? Say yes: ", terminator: "")
        fflush(nil)
        return readLine() == "yes"
    }
}

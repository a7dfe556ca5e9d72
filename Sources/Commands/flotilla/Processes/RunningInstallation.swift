internal import FoundationEssentials
internal import JSON
internal import Kafka
internal import Members
internal import RecordFormat
internal import Replay
internal import Settings
internal import Topics

/// A `flotilla up` of this machine, as it announces itself in `members`. Commands beside it find its data directory
/// there, wherever it is.
enum RunningInstallation {
    private static let dataKey = "up.data"

    /// Returns what a process publishes about its data directory.
    static func settings(ofDataDirectory path: String?) -> [ProcessFacts.Setting] {
        guard let path else { return [] }
        let isAbsolute = path.hasPrefix("/")
        let absolute = isAbsolute ? path : FileManager.default.currentDirectoryPath + "/" + path
        return [ProcessFacts.Setting(key: dataKey, value: absolute)]
    }

    /// Returns the data directories of the processes of this machine. It is empty if the topic cannot be read.
    static func dataDirectories(settings: ResolvedSettings) -> [String] {
        let topic = TopicLayout(settings: settings).name(of: .members)
        let reader = JSONReader()
        var directories: [[UInt8]: String] = [:]
        _ = try? TopicScanner(settings[KafkaSettings.self]).read(TopicPartition(topic, 0)) { record in
            guard let key = [UInt8](copying: record.key) else { return }
            let value = [UInt8](copying: record.value)
            let facts = value.flatMap { try? ProcessFacts.decode($0, with: reader) }
            let isHere = facts?.host == CatalogAccess.hostName
            directories[key] = isHere ? facts?.settings.first { $0.key == dataKey }?.value : nil
        }
        return directories.values.sorted()
    }
}

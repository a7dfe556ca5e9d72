internal import CLinux
internal import Glibc
package import Telemetry

/// All topics of a broker in one data directory. It creates, finds, changes and deletes topics, and gives
/// their logs the results of the other threads.
///
/// Confined to the loop thread. To create or delete a topic it syncs small files on that thread, which
/// takes a few milliseconds. Such requests are rare and must be durable before they are answered.
package final class TopicStore {
    /// Partitions of one topic.
    package static let partitionsMax: Int32 = 10_000

    package let path: String
    package var clusterID: String { catalog.clusterID }
    /// The directory with the directories of the logs.
    var logsPath: String { path + "/logs" }

    let environment: LogEnvironment
    private let lock: StoreLock
    /// The work for the thread that compacts and removes files. The owner starts the thread.
    package let worker: DiskWorker
    var catalog: TopicCatalog
    let copies: CatalogCopies
    private var bootNote: BootNote
    /// Whether the disk may have another catalog than memory, because a save failed.
    var hasUnsavedCatalog = false
    private(set) var topicsByName: [String: Topic] = [:]
    /// By the number of the log, `PartitionLog.id`.
    private(set) var logs: [Int: PartitionLog] = [:]
    private var nextLogID = 0
    /// The next time when unused segments are closed, by the expiry clock, in milliseconds since 1970.
    var nextSweep: Int64 = 0

    /// Opens the directory, which it makes if needed, and recovers every log in it. Other threads call
    /// `wake` when `deliver` has results to take. `bootID` and `directoryIdentity` replace the real ones in a
    /// test.
    package init(
        path: String, flush: FlushPolicy = .everyAck, disk: Disk = Disk(), log: Log = .silent,
        metrics: Metrics = Metrics(), openSegmentsMax: Int = OpenSegments.limitDefault,
        bootID: String? = nil, directoryIdentity: String? = nil,
        clock: @escaping () -> WallTime = { .now() },
        wake: @escaping @Sendable () -> Void
    ) throws(TopicStoreError) {
        self.path = path
        let counters = LogCounters(metrics: metrics)
        worker = DiskWorker(disk: disk, wake: wake)
        let earlierNote: BootNote?
        try Self.makeDirectories(at: path, disk: disk)
        lock = try StoreLock(path: path, disk: disk)
        do throws(DiskError) {
            earlierNote = try BootNote.read(in: path, disk: disk)
        } catch {
            throw .disk(error)
        }
        bootNote = BootNote(
            boot: bootID ?? BootNote.currentBoot(),
            directoryIdentity: directoryIdentity ?? lock.directoryIdentity, flush: flush)
        copies = CatalogCopies(in: path, disk: disk)
        environment = LogEnvironment(
            disk: disk, openSegments: OpenSegments(disk: disk, limit: openSegmentsMax, flush: flush),
            flusher: Flusher(disk: disk, syncSeconds: counters.syncSeconds, wake: wake),
            flushPolicy: flush,
            machineStayedUp: bootNote.stayedUp(since: earlierNote),
            clock: clock, log: log, counters: counters)
        catalog = TopicCatalog(clusterID: "")
        try openCatalog()
        let skipsOffsets = bootNote.mayHaveLostAcknowledged(since: earlierNote)
        for entry in catalog.entries { try open(entry, skipsOffsets: skipsOffsets) }
        if bootNote != earlierNote { try saveBootNote(bootNote) }
    }

    private func saveBootNote(_ note: BootNote) throws(TopicStoreError) {
        do throws(DiskError) {
            try note.save(in: path, disk: environment.disk)
        } catch {
            throw .disk(error)
        }
    }

    /// Makes the directories that are missing and syncs their names. If a power failure removed a
    /// directory, the acknowledged records in it would be lost too.
    static func makeDirectories(at path: String, disk: Disk) throws(TopicStoreError) {
        do throws(DiskError) {
            if try disk.makeDirectory(at: path) { try disk.syncDirectory(at: disk.parent(of: path)) }
            try disk.restrictAccess(to: path)
            if try disk.makeDirectory(at: path + "/logs") { try disk.syncDirectory(at: path) }
        } catch {
            throw .disk(error)
        }
    }

    /// Opens the logs of a topic and adds the topic. If one log cannot be opened, the topic is not added.
    func open(_ entry: TopicCatalog.Entry, skipsOffsets: Bool = false) throws(TopicStoreError) {
        let settings: TopicSettings
        do throws(TopicSettingError) {
            settings = try TopicSettings(overrides: entry.settings)
        } catch {
            throw .badSetting(error)
        }
        let topic = Topic(
            name: entry.name, id: entry.id, isInternal: entry.isInternal, serial: entry.serial,
            settings: settings)
        do throws(LogError) {
            for directory in entry.directories {
                let log = PartitionLog(
                    topic: entry.name, partition: directory.partition, id: nextLogID,
                    directory: logPath(of: directory), settings: settings, environment: environment)
                nextLogID += 1
                topic.partitions.append(log)
                try log.open(skipsOffsets: skipsOffsets)
            }
        } catch {
            for log in topic.partitions { log.abandon(reason: "its topic could not be opened") }
            throw .log(error)
        }
        for log in topic.partitions { logs[log.id] = log }
        topicsByName[entry.name] = topic
    }

    func logPath(of directory: LogDirectory) -> String { logsPath + "/" + directory.name }

    /// Takes a topic out of memory, and closes its logs.
    func removeTopic(_ topic: Topic) {
        topicsByName[topic.name] = nil
        for log in topic.partitions {
            logs[log.id] = nil
            log.abandon(reason: "the topic was deleted")
        }
    }
}

extension TopicStore {
    package var topics: [Topic] { topicsByName.values.sorted { $0.name < $1.name } }

    /// Number of files in the directories that no log reads.
    package var setAsideFileCount: Int { logs.values.reduce(0) { $0 + $1.setAsideFileCount } }

    package func topic(named name: String) -> Topic? { topicsByName[name] }

    package func topic(id: TopicID) -> Topic? { topicsByName.values.first { $0.id == id } }

    /// The work for the threads that sync. The owner starts the threads.
    package var flusher: Flusher { environment.flusher }

    /// Gives the syncs that `close` needs to the flusher's threads. Their results come with `deliver`.
    package func prepareClose() {
        for log in logs.values { log.prepareClose() }
    }

    /// Syncs and closes every log, so that the next start reads no batches.
    package func close() throws(TopicStoreError) {
        var failure: LogError?
        for log in logs.values {
            do throws(LogError) {
                try log.close()
            } catch {
                failure = error
            }
        }
        if let failure { throw .log(failure) }
        guard bootNote.flush == .os else { return }
        bootNote.isClosed = true
        try saveBootNote(bootNote)
    }
}

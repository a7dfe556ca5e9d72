import Glibc
import Telemetry
import Testing

@testable import Broker

/// The catalog of topics, a file with a second copy. No damage of the two files lets a start remove records. A test
/// fills a store, closes it, changes its files, and opens it again. `flotilla repair` (`StoreRepair`) mends what a
/// start refuses. A store or repair in a `do` block gives up the directory at the end of the block.
struct CatalogTests {
    private let directory = TestDirectory(inMemory: true)
    /// The paths of the two copies.
    private var first: String { directory.path + "/catalog" }
    private var second: String { directory.path + "/logs/catalog" }

    /// Makes a closed store with one topic of two partitions and ten records. The directory of partition 1 is "t-0.1".
    private func fillStore() throws {
        let store = try TopicStore(path: directory.path) {}
        let log = try store.create("t", partitions: 2, settings: ["retention.ms": "1000"]).partitions[1]
        for _ in 0..<10 { try log.append(records("v")) }
        store.settle()
        try store.close()
    }

    private func open(disk: Disk = Disk()) throws -> TopicStore {
        try TopicStore(path: directory.path, disk: disk) {}
    }

    private func bytes(of path: String) throws -> [UInt8] {
        let contents = try Disk().contents(of: path)
        return try #require(contents)
    }

    /// Expects the records of `fillStore`.
    private func expectRecords(in store: TopicStore, sourceLocation: SourceLocation = #_sourceLocation) throws
    {
        let topic = try #require(store.topic(named: "t"), sourceLocation: sourceLocation)
        #expect(topic.partitions.map(\.endOffset) == [0, 10], sourceLocation: sourceLocation)
    }

    @Test func `without any catalog the broker refuses to start and removes nothing`() throws {
        try fillStore()
        unlink(first)
        unlink(second)
        let error = try #require(throws: TopicStoreError.self) { try open() }
        #expect(error == .missingCatalog(path: first))
        #expect("\(error)".contains("flotilla repair"))
        #expect(try logDirectories(in: directory).count == 2)
    }

    /// The damage of a copy.
    enum Fault: CaseIterable { case missing, flipped, empty }

    private func apply(_ fault: Fault, to path: String) {
        switch fault {
        case .missing: unlink(path)
        // Any bit: the file has a checksum.
        case .flipped: flipBit(1, at: 10, in: path)
        case .empty: truncate(path, 0)
        }
    }

    @Test(arguments: Fault.allCases, [true, false])
    func `one intact copy is enough, and the other is written again`(_ fault: Fault, damagesFirst: Bool)
        throws
    {
        try fillStore()
        let damagedPath = damagesFirst ? first : second
        apply(fault, to: damagedPath)
        try expectRecords(in: try open())
        // The start has written the damaged copy again, so now the other one may be lost.
        apply(.missing, to: damagesFirst ? second : first)
        try expectRecords(in: try open())
    }

    @Test(arguments: Fault.allCases)
    func `with two damaged copies the broker refuses to start and removes nothing`(_ fault: Fault) throws {
        try fillStore()
        apply(fault, to: first)
        apply(.flipped, to: second)
        #expect(throws: TopicStoreError.self) { try open() }
        #expect(try logDirectories(in: directory).count == 2)
    }

    @Test(arguments: [EIO, EACCES, EMFILE])
    func `a catalog that cannot be read is not a missing one`(_ code: Int32) throws {
        try fillStore()
        let first = first
        let disk = Disk { operation, path, _ in operation == .open && path == first ? .fail(code) : nil }
        let error = try #require(throws: TopicStoreError.self) { try open(disk: disk) }
        #expect(
            error == .unreadableCatalog(DiskError(operation: .open, path: first, code: code), second: second))
        #expect(try logDirectories(in: directory).count == 2)
        try expectRecords(in: try open())
    }

    @Test func `an older catalog does not remove the topics that it does not know`() throws {
        try fillStore()
        let olderCatalog = try bytes(of: first)
        do {
            let store = try open()
            try store.create("younger", partitions: 1).partitions[0].append(records("v"))
            store.settle()
        }
        for path in [first, second] { try Disk().replace(path, with: olderCatalog) }
        let error = try #require(throws: TopicStoreError.self) { try open() }
        #expect(error == .unknownLogs([directory.path + "/logs/younger-0.2"]))
        do {
            let repair = try StoreRepair(path: directory.path)
            let plan = try repair.plan()
            #expect(plan.setAside.map(\.name) == ["younger-0.2"])
            try repair.apply(plan)
        }
        try expectRecords(in: try open())
        let keptFiles = try Disk().names(in: directory.path + "/set-aside/younger-0.2")
        #expect(keptFiles.contains { $0.hasSuffix(".log") })
    }

    @Test func `the newer of two intact copies counts`() throws {
        try fillStore()
        let olderCatalog = try bytes(of: first)
        _ = try open().create("younger", partitions: 1)
        try Disk().replace(first, with: olderCatalog)
        #expect(try open().topics.map(\.name) == ["t", "younger"])
    }

    @Test func `catalogs of two brokers are refused`() throws {
        try fillStore()
        try Disk().replace(second, with: TopicCatalog(clusterID: "another").encoded())
        #expect(throws: TopicStoreError.mixedCatalogs(first, second)) { try open() }
    }

    @Test func `a missing partition is refused until it is repaired`() throws {
        try fillStore()
        try Disk().removeDirectory(at: directory.path + "/logs/t-0.1")
        #expect(throws: TopicStoreError.missingLogs([directory.path + "/logs/t-0.1"])) { try open() }
        do {
            let repair = try StoreRepair(path: directory.path)
            try repair.apply(try repair.plan())
        }
        try expectRecords(in: try open())
    }

    @Test func `a repair makes the catalog from the logs and gives settings that keep all records`() throws {
        try fillStore()
        unlink(first)
        flipBit(1, at: 10, in: second)
        do {
            let repair = try StoreRepair(path: directory.path)
            let plan = try repair.plan()
            #expect(plan.sentences.contains { $0.contains("topic t with 2 partitions") })
            try repair.apply(plan)
            #expect(try repair.plan().isEmpty)
        }
        let store = try open()
        try expectRecords(in: store)
        let topic = try #require(store.topic(named: "t"))
        // The settings are lost with the catalog. -1 keeps records without end.
        #expect(topic.settings.retentionMilliseconds == -1)
        let thirtyYears: Int64 = 30 * 365 * 86_400
        store.upkeep(now: secondsAfterNoon(thirtyYears))
        try expectRecords(in: store)
        #expect(try store.create("next", partitions: 1).serial == 2, "a new topic has a new serial number")
    }

    /// Repairs the store at a path.
    private func repair(_ path: String, disk: Disk) throws {
        let repair = try StoreRepair(path: path, disk: disk)
        try repair.apply(try repair.plan())
    }

    @Test func `a repair that is killed at any step is finished by the next one`() throws {
        // A step is an operation of the disk. The repair needs fewer than 40.
        for step in 1..<40 {
            let fresh = CatalogTests()
            try fresh.fillStore()
            unlink(fresh.first)
            unlink(fresh.second)
            try Disk().removeDirectory(at: fresh.directory.path + "/logs/t-0.1")
            let faultyDisk = FaultyDisk(seed: UInt64(step))
            faultyDisk.die(after: step)
            try? repair(fresh.directory.path, disk: faultyDisk.disk)
            if !faultyDisk.isDead { return try fresh.expectRecords(in: try fresh.open()) }
            try repair(fresh.directory.path, disk: Disk())
            try fresh.expectRecords(in: try fresh.open())
        }
        Issue.record("the repair never ends")
    }

    @Test func `after a kill, the catalog decides that a deleted topic is removed`() throws {
        try fillStore()
        do {
            let store = try open()
            try store.delete("t")
            #expect(try logDirectories(in: directory).count == 2)
        }
        #expect(try open().topics.isEmpty)
        #expect(try logDirectories(in: directory).isEmpty)
        #expect(try open().catalog.removed.isEmpty)
    }

    @Test func `a catalog of the previous release is read, and unknown logs are removed as before`() throws {
        try fillStore()
        let catalog = try #require(TopicCatalog(decoding: try bytes(of: first)))
        let old = SealedFile.seal(format: 1) { writer in
            writer.string(catalog.clusterID)
            writer.int64(5)  // the next serial number
            writer.array([catalog.entries[0]]) { writer, entry in
                writer.string(entry.name)
                writer.uuid(entry.id)
                writer.bool(entry.isInternal)
                writer.int64(entry.serial)
                writer.int32(entry.partitionCount)
                writer.array([(name: "retention.ms", value: "1000")]) { writer, setting in
                    writer.string(setting.name)
                    writer.string(setting.value)
                }
            }
        }
        try Disk().replace(first, with: old)
        unlink(second)
        // The previous release listed no removed topics, so a log outside its catalog belonged to a removed topic.
        let unknownLog = directory.path + "/logs/gone-0.4"
        try Disk().makeDirectory(at: unknownLog)
        try Disk().replace(unknownLog + "/00000000000000000000.log", with: [1])
        try expectRecords(in: try open())
        #expect(try logDirectories(in: directory).count == 2)
        #expect(TopicCatalog(decoding: try bytes(of: second))?.listsRemoved == true)
    }

    @Test func `a creation that fails leaves no log and no open file behind`() throws {
        for step in 1..<60 {
            let directory = TestDirectory(inMemory: true)
            let faultyDisk = FaultyDisk(seed: 1)
            let store = try TopicStore(path: directory.path, disk: faultyDisk.disk) {}
            faultyDisk.fail(after: step)
            let isCreated = (try? store.create("t", partitions: 3)) != nil
            // If the creation had fewer steps, the planned failure is still to come, and is forgotten.
            faultyDisk.revive()
            if isCreated { return }
            #expect(store.logs.isEmpty, "step \(step)")
            #expect(store.environment.openSegments.count == 0, "step \(step)")
            while store.worker.runOnce() {}
            _ = try store.create("t", partitions: 1)
            #expect(store.catalog.entries.count == 1, "step \(step)")
        }
        Issue.record("the creation always fails")
    }

    @Test(arguments: ["t-2147483647.1", "t-0.9223372036854775807"])
    func `a repair passes over a directory whose numbers the broker never gives`(name: String) throws {
        try fillStore()
        unlink(first)
        unlink(second)
        try Disk().makeDirectory(at: directory.path + "/logs/" + name)
        let plan = try StoreRepair(path: directory.path).plan()
        #expect(plan.catalog?.entries.map(\.partitionCount) == [2])
        #expect(plan.catalog?.nextSerial == 2)
    }

    @Test func `the error of a file system without locks advises a local disk`() throws {
        let error = TopicStoreError.disk(DiskError(operation: .lock, path: "lock", code: ENOLCK))
        #expect("\(error)".contains("local disk"))
        let other = DiskError(operation: .truncate, path: "log", code: EOPNOTSUPP)
        #expect(!"\(other)".contains("locks"))
    }
}

import Glibc
import Testing

@testable import Broker

/// The topics of a data directory: creation, deletion, settings, access, and crashes at any step. A step is an
/// operation of the disk (`FaultyDisk`). A store that is dropped without `close` is a killed broker.
struct TopicStoreTests {
    @Test func `a data directory has one owner`() throws {
        let directory = TestDirectory()
        let store = try TopicStore(path: directory.path, wake: {})
        #expect(throws: TopicStoreError.locked(path: directory.path)) {
            try TopicStore(path: directory.path, wake: {})
        }
        try store.close()
    }

    @Test func `the cluster id has 128 bits in Base64`() throws {
        let directory = TestDirectory()
        #expect(try TopicStore(path: directory.path, wake: {}).clusterID.utf8.count == 22)
    }

    @Test func `topics, their ids and settings survive a kill, deleted ones do not come back`() throws {
        let directory = TestDirectory()
        var id = TopicID.none
        var clusterID = ""
        do {
            let store = try TopicStore(path: directory.path, wake: {})
            clusterID = store.clusterID
            id = try store.create("kept", partitions: 3, settings: ["retention.ms": "1000"]).id
            _ = try store.create("gone", partitions: 1)
            try store.delete("gone")
            _ = try store.create("__inner", partitions: 1, isInternal: true)
            try store.alter("kept", settings: ["cleanup.policy": "compact,delete"])
        }
        let store = try TopicStore(path: directory.path, wake: {})
        #expect(store.clusterID == clusterID)
        #expect(store.topics.map(\.name) == ["__inner", "kept"])
        let topic = try #require(store.topic(id: id))
        #expect(topic.partitions.count == 3)
        #expect(topic.settings.isCompacted)
        #expect(topic.settings.isDeleted)
        // `alter` replaces all settings, so this one has its default, seven days.
        #expect(topic.settings.retentionMilliseconds == 7 * 86_400_000)
        #expect(store.topic(named: "__inner")?.isInternal == true)
        #expect(try logDirectories(in: directory).count == 4)
    }

    /// Returns the permissions of a file, or of a directory and all its files, by path.
    private func modes(of path: String) throws -> [String: mode_t] {
        var status = stat()
        guard lstat(path, &status) == 0 else { return [:] }
        var modes = [path: status.st_mode & 0o777]
        guard status.st_mode & S_IFMT == S_IFDIR else { return modes }
        for name in try Disk().names(in: path) { modes.merge(try self.modes(of: path + "/" + name)) { $1 } }
        return modes
    }

    @Test func `only the owner may read the data, and an open directory of an older release is closed`()
        throws
    {
        let directory = TestDirectory(inMemory: true)
        let path = directory.path + "/data"
        do {
            let store = try TopicStore(path: path, wake: {})
            try store.create("t", partitions: 1).partitions[0].append(records("v"))
            store.settle()
            try store.close()
        }
        let groupAndOthers: mode_t = 0o077
        for (path, mode) in try modes(of: path) { #expect(mode & groupAndOthers == 0, "\(path)") }
        chmod(path, 0o755)
        do { _ = try TopicStore(path: path, wake: {}) }
        #expect(try modes(of: path)[path] == 0o700)
        // An operator who lets a group read has decided so.
        chmod(path, 0o750)
        do { _ = try TopicStore(path: path, wake: {}) }
        #expect(try modes(of: path)[path] == 0o750)
    }

    @Test func `a topic that is made again has no records of the old one`() throws {
        let directory = TestDirectory()
        let store = try TopicStore(path: directory.path, wake: {})
        let old = try store.create("t", partitions: 1)
        try old.partitions[0].append(records("old"))
        store.settle()
        try store.delete("t")
        #expect(throws: LogError.self) { try old.partitions[0].append(records("late")) }
        let new = try store.create("t", partitions: 1)
        #expect(new.id != old.id)
        #expect(new.partitions[0].endOffset == 0)
        while store.worker.runOnce() {}
        #expect(try logDirectories(in: directory).count == 1)
    }

    @Test func `a creation or deletion that a crash interrupts is complete or did not happen`() throws {
        var step = 0
        var hasCrashed = true
        while hasCrashed {
            step += 1
            let directory = TestDirectory(inMemory: true)
            _ = try TopicStore(path: directory.path, wake: {})
            let faultyDisk = FaultyDisk(seed: UInt64(step))
            do {
                let store = try TopicStore(path: directory.path, disk: faultyDisk.disk, wake: {})
                _ = try store.create("a", partitions: 2)
                faultyDisk.die(after: step)
                _ = try? store.create("b", partitions: 2)
                _ = try? store.delete("a")
                hasCrashed = faultyDisk.isDead
            }
            let store = try TopicStore(path: directory.path, wake: {})
            let names = store.topics.map(\.name)
            #expect([["a"], ["a", "b"], ["b"]].contains(names), "step \(step): \(names)")
            for topic in store.topics { #expect(topic.partitions.count == 2) }
            #expect(try logDirectories(in: directory).count == 2 * names.count, "step \(step)")
        }
    }

    @Test func `a creation that fails can be repeated`() throws {
        var step = 0
        var hasFailed = true
        while hasFailed {
            step += 1
            let directory = TestDirectory(inMemory: true)
            let faultyDisk = FaultyDisk(seed: 1)
            let store = try TopicStore(path: directory.path, disk: faultyDisk.disk, wake: {})
            let stepCountBefore = faultyDisk.stepCount
            faultyDisk.fail(after: step)
            let isCreated = (try? store.create("t", partitions: 2)) != nil
            // The last creation ends before the step that would fail.
            hasFailed = faultyDisk.stepCount >= stepCountBefore + step
            if !isCreated { _ = try store.create("t", partitions: 2) }
            #expect(store.catalog.entries.count == 1, "step \(step)")
            #expect(store.topics.map(\.partitions.count) == [2])
        }
    }

    @Test(arguments: [
        ("cleanup.policy", "shred"), ("retention.ms", "-2"), ("segment.bytes", "many"),
        ("min.cleanable.dirty.ratio", "1.5"), ("no.such.setting", "1"), ("message.timestamp.type", "Now"),
    ])
    func `an invalid setting is refused with its name`(_ name: String, _ value: String) throws {
        let directory = TestDirectory(inMemory: true)
        let store = try TopicStore(path: directory.path, wake: {})
        let error = try #require(throws: TopicStoreError.self) {
            try store.create("t", partitions: 1, settings: [name: value])
        }
        #expect(error.code == .invalidConfig)
        #expect("\(error)".contains(name))
        #expect(store.topics.isEmpty)
    }

    @Test(arguments: ["", ".", "..", "a/b", "ü", String(repeating: "x", count: 250)])
    func `a name that cannot be a directory is refused`(_ name: String) throws {
        let directory = TestDirectory(inMemory: true)
        let store = try TopicStore(path: directory.path, wake: {})
        let error = try #require(throws: TopicStoreError.self) { try store.create(name, partitions: 1) }
        #expect(error.code == .invalidTopic)
    }

    @Test func `every setting's default is a value that it takes`() throws {
        for setting in TopicSettings().descriptions {
            var settings = TopicSettings()
            try settings.set(setting.name, to: setting.value)
            let described = settings.descriptions.first { $0.name == setting.name }
            #expect(setting.isDefault && described?.value == setting.value, "\(setting.name)")
        }
    }

    @Test func `a setting without a value gets its default again`() throws {
        var settings = try TopicSettings(overrides: ["retention.ms": "5"])
        #expect(settings.retentionMilliseconds == 5)
        try settings.set("retention.ms", to: nil)
        #expect(settings == TopicSettings())
    }
}

/// The directory of one partition's log. Its name has the topic, the partition and the serial, for example
/// `reports-0.7`.
struct LogDirectory: Hashable, Comparable {
    var topic: String
    var partition: Int32
    /// A number that no other topic gets. So files of a deleted topic cannot be taken for those of a new
    /// one.
    var serial: Int64

    var name: String { "\(topic)-\(partition).\(serial)" }

    init(topic: String, partition: Int32, serial: Int64) {
        self.topic = topic
        self.partition = partition
        self.serial = serial
    }

    /// Returns nil if the name is not one that the broker gives. The limits leave room for a larger partition
    /// count and a larger serial, which a repair computes.
    init?(name: String) {
        guard let dot = name.lastIndex(of: "."), let serial = Int64(name[name.index(after: dot)...]),
            let hyphen = name[..<dot].lastIndex(of: "-"),
            let partition = Int32(name[name.index(after: hyphen)..<dot])
        else { return nil }
        self.init(topic: String(name[..<hyphen]), partition: partition, serial: serial)
        guard self.name == name, Topic.isValidName(topic), (0..<TopicStore.partitionsMax).contains(partition),
            (0..<Int64.max).contains(serial)
        else { return nil }
    }

    static func < (left: LogDirectory, right: LogDirectory) -> Bool {
        (left.topic, left.serial, left.partition) < (right.topic, right.serial, right.partition)
    }
}

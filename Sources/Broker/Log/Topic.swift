/// One topic: what the catalogue says of it, and its partitions' logs.
package final class Topic {
    package let name: String
    package let id: TopicID
    /// Written by the broker itself; clients only read it.
    package let isInternal: Bool
    /// Part of the directories' names, never used again: an old topic's files cannot pass for a new one's.
    let serial: Int64
    package internal(set) var settings: TopicSettings
    package internal(set) var partitions: [PartitionLog] = []

    init(name: String, id: TopicID, isInternal: Bool, serial: Int64, settings: TopicSettings) {
        self.name = name
        self.id = id
        self.isInternal = isInternal
        self.serial = serial
        self.settings = settings
    }

    package func partition(_ index: Int32) -> PartitionLog? {
        index >= 0 && Int(index) < partitions.count ? partitions[Int(index)] : nil
    }

    /// What may be a topic's name, as Kafka has it: it becomes a directory's name.
    package static func isName(_ name: String) -> Bool {
        (1...249).contains(name.utf8.count) && name != "." && name != ".."
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}

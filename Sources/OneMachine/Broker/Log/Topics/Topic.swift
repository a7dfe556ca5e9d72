/// One topic: its entry in the catalog, and the logs of its partitions.
package final class Topic {
    package let name: String
    package let id: TopicID
    /// Whether only the broker writes to the topic.
    package let isInternal: Bool
    /// A number in the names of the directories. No other topic gets it, so files of a deleted topic cannot
    /// be taken for those of a new one.
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

    package func partition(at index: Int32) -> PartitionLog? {
        index >= 0 && Int(index) < partitions.count ? partitions[Int(index)] : nil
    }

    /// Whether Kafka allows the topic name. It becomes part of a directory's name.
    package static func isValidName(_ name: String) -> Bool {
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

internal import CRdKafka

/// A table that gives each topic a small number, its index in `names`. A record's topic is found by the
/// address of the library's topic, so that no string is made per record.
@safe
struct TopicTable {
    private(set) var names: [String]
    private var knownTopics: [(pointer: OpaquePointer, index: Int32)]

    init(names: [String]) {
        self.names = names
        unsafe knownTopics = []
    }

    /// Forgets the topic addresses. After an assignment change the library may reuse an address for another
    /// topic.
    mutating func forgetAddresses() { unsafe knownTopics.removeAll(keepingCapacity: true) }

    /// Returns the index of a topic. A topic that is not known yet is added.
    mutating func index(of topic: OpaquePointer) -> Int32 {
        if let entry = unsafe knownTopics.first(where: { unsafe $0.pointer == topic }) {
            return unsafe entry.index
        }
        let name = unsafe String(cString: rd_kafka_topic_name(topic))
        let index: Int
        if let existingIndex = names.firstIndex(of: name) {
            index = existingIndex
        } else {
            index = names.count
            names.append(name)
        }
        unsafe knownTopics.append((topic, Int32(index)))
        return Int32(index)
    }
}

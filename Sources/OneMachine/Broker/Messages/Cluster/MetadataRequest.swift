/// The request for the nodes of the cluster and the partitions of topics. It never creates a topic.
struct MetadataRequest {
    /// A topic by its name or, from version 10 on, by its id.
    struct Topic {
        var name: String?
        var id: TopicID
    }

    /// The topics; nil for all.
    var topics: [Topic]?
    var wantsClusterOperations = false
    var wantsTopicOperations = false

    init(from reader: inout WireReader, version: Int16) throws(WireError) {
        topics = try reader.nullableArray { (reader) throws(WireError) in
            let id = version >= 10 ? try reader.uuid() : .none
            let name = try reader.nullableString()
            try reader.skipTags()
            return Topic(name: name, id: id)
        }
        // Version 0 has no null. There an empty list stands for all topics.
        if version == 0, topics?.isEmpty == true { topics = nil }
        if version >= 4 { _ = try reader.bool() }  // allow_auto_topic_creation
        if version >= 8, version <= 10 { wantsClusterOperations = try reader.bool() }
        if version >= 8 { wantsTopicOperations = try reader.bool() }
        try reader.skipTags()
    }
}

/// The answer, with one node and all partitions on it.
struct MetadataResponse {
    struct Topic {
        var error = ErrorCode.none
        var name: String?
        var id = TopicID.none
        var isInternal = false
        var partitionCount = 0
        var hasLeader = true
    }

    var node: Node
    var topics: [Topic]

    func write(to writer: inout WireWriter, version: Int16, request: MetadataRequest) {
        if version >= 3 { writer.zeroThrottleTime() }
        writer.array(CollectionOfOne(node)) { writer, node in
            writer.int32(Node.id)
            writer.string(node.host)
            writer.int32(Int32(node.port))
            if version >= 1 { writer.nullableString(nil) }  // rack
            writer.emptyTags()
        }
        if version >= 2 { writer.string(node.clusterID) }
        if version >= 1 { writer.int32(Node.id) }  // controller_id
        writer.array(topics) { Self.writeTopic($1, to: &$0, version: version, request: request) }
        if version >= 8, version <= 10 {
            writer.int32(request.wantsClusterOperations ? Node.clusterOperations : Node.operationsNotAsked)
        }
        writer.emptyTags()
    }

    private static func writeTopic(
        _ topic: Topic, to writer: inout WireWriter, version: Int16, request: MetadataRequest
    ) {
        writer.error(topic.error)
        writer.nullableString(version >= 12 ? topic.name : topic.name ?? "")
        if version >= 10 { writer.uuid(topic.id) }
        if version >= 1 { writer.bool(topic.isInternal) }
        writer.array(0..<topic.partitionCount) { writer, partition in
            writer.error(topic.hasLeader ? .none : .leaderNotAvailable)
            writer.int32(Int32(partition))
            writer.int32(topic.hasLeader ? Node.id : -1)  // leader_id
            if version >= 7 { writer.int32(Node.leaderEpoch) }
            writer.array(CollectionOfOne(Node.id)) { $0.int32($1) }  // replica_nodes
            writer.array(CollectionOfOne(Node.id)) { $0.int32($1) }  // isr_nodes
            if version >= 5 { writer.array(EmptyCollection<Int32>()) { $0.int32($1) } }  // offline_replicas
            writer.emptyTags()
        }
        if version >= 8 {
            writer.int32(request.wantsTopicOperations ? Node.topicOperations : Node.operationsNotAsked)
        }
        writer.emptyTags()
    }
}

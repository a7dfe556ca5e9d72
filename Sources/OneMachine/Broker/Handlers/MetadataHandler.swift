/// The handler of Metadata. A request never creates a topic.
struct MetadataHandler {
    unowned let node: BrokerNode

    func handle(_ request: MetadataRequest, for exchange: RequestExchange) {
        let topics =
            request.topics?.uniqued(by: TopicKey.init).map(find)
            ?? node.topics.topics.map(describe).filter { $0.error == .none }
        let response = MetadataResponse(node: node.identity, topics: topics)
        exchange.answer { response.write(to: &$0, version: exchange.version, request: request) }
    }

    /// Finds a topic by its name, or by its id if the request has no name.
    private enum TopicKey: Hashable {
        case name(String)
        case id(TopicID)

        init(_ topic: MetadataRequest.Topic) {
            self = topic.name.map(TopicKey.name) ?? .id(topic.id)
        }
    }

    private func find(_ wanted: MetadataRequest.Topic) -> MetadataResponse.Topic {
        guard let name = wanted.name else {
            guard let topic = node.topics.topic(id: wanted.id) else {
                return MetadataResponse.Topic(error: .unknownTopicID, name: nil, id: wanted.id)
            }
            return describe(topic)
        }
        guard let topic = node.topics.topic(named: name) else {
            let error = Topic.isValidName(name) ? ErrorCode.unknownTopicOrPartition : .invalidTopic
            return MetadataResponse.Topic(error: error, name: name)
        }
        return describe(topic)
    }

    private func describe(_ topic: Topic) -> MetadataResponse.Topic {
        let sight = node.visibility(of: topic.name)
        if sight == .unknown {
            return MetadataResponse.Topic(error: .unknownTopicOrPartition, name: topic.name)
        }
        return MetadataResponse.Topic(
            name: topic.name, id: topic.id, isInternal: topic.isInternal,
            partitionCount: topic.partitions.count, hasLeader: sight == .whole)
    }
}

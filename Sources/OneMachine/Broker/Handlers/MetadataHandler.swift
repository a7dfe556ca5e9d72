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

    /// The name of a requested topic, or its id if the request has no name.
    private enum TopicKey: Hashable {
        case name(String)
        case id(TopicID)

        init(_ topic: MetadataRequest.Topic) {
            self = topic.name.map(TopicKey.name) ?? .id(topic.id)
        }
    }

    private func find(_ requested: MetadataRequest.Topic) -> MetadataResponse.Topic {
        guard let name = requested.name else {
            guard let topic = node.topics.topic(id: requested.id) else {
                return MetadataResponse.Topic(error: .unknownTopicID, name: nil, id: requested.id)
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
        let visibility = node.visibility(of: topic.name)
        if visibility == .unknown {
            return MetadataResponse.Topic(error: .unknownTopicOrPartition, name: topic.name)
        }
        return MetadataResponse.Topic(
            name: topic.name, id: topic.id, isInternal: topic.isInternal,
            partitionCount: topic.partitions.count, hasLeader: visibility == .whole)
    }
}

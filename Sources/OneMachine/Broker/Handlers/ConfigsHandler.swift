/// Shows and changes the settings of topics; shows the broker's.
struct ConfigsHandler {
    unowned let node: BrokerNode

    // MARK: Show

    func describe(_ request: DescribeConfigsRequest, for exchange: RequestExchange) {
        let described = request.resources.uniqued(by: \.resource).map {
            describe($0.resource, names: $0.names)
        }
        let response = DescribeConfigsResponse(resources: described)
        exchange.answer { response.write(to: &$0, version: exchange.version, request: request) }
    }

    private func describe(
        _ resource: ConfigResource, names: [String]?
    ) -> DescribeConfigsResponse.DescribedResource {
        var answer = DescribeConfigsResponse.DescribedResource(resource: resource)
        switch resource.kind {
        case ConfigResource.topic:
            guard let topic = node.topics.topic(named: resource.name),
                node.visibility(of: topic.name) != .unknown
            else {
                answer.error = .unknownTopicOrPartition
                answer.message = "topic \(resource.name) does not exist"
                return answer
            }
            answer.settings = Self.settings(of: topic)
        case ConfigResource.broker where resource.name == String(Node.id):
            answer.settings = brokerSettings
        case ConfigResource.broker:
            answer.error = .invalidRequest
            answer.message = "broker \(resource.name) is not here; this one is \(Node.id)"
        default:
            answer.error = .invalidRequest
            answer.message =
                "resources of kind \(resource.kind) have no settings here; ask for topics or brokers"
        }
        // Older clients send an empty list for "all".
        if let names, !names.isEmpty { answer.settings.removeAll { !names.contains($0.name) } }
        return answer
    }

    static func settings(of topic: Topic) -> [DescribedSetting] {
        topic.settings.descriptions.map { setting in
            DescribedSetting(
                name: setting.name, value: setting.value, source: setting.isDefault ? .defaultValue : .topic,
                kind: .init(of: setting.name))
        }
    }

    private var brokerSettings: [DescribedSetting] {
        func fixed(name: String, value: some CustomStringConvertible, kind: DescribedSetting.ValueKind)
            -> DescribedSetting
        {
            DescribedSetting(
                name: name, value: value.description, source: .broker, kind: kind, isReadOnly: true)
        }
        return [
            fixed(name: "broker.id", value: Node.id, kind: .int),
            fixed(name: "auto.create.topics.enable", value: false, kind: .boolean),
            fixed(name: "num.partitions", value: node.settings.defaultPartitions, kind: .int),
            fixed(name: "default.replication.factor", value: 1, kind: .int),
            fixed(name: "socket.request.max.bytes", value: node.settings.limits.requestBytesMax, kind: .int),
            fixed(name: "fetch.max.bytes", value: node.settings.limits.fetchBytesMax, kind: .int),
        ]
    }

    // MARK: Change

    func alter(_ request: AlterConfigsRequest, incremental: Bool, for exchange: RequestExchange) {
        let outcomes = request.resources.map { resource, changes in
            alter(resource, changes: changes, incremental: incremental, onlyChecks: request.validateOnly)
        }
        exchange.answer { AlterConfigsResponse(outcomes: outcomes).write(to: &$0) }
    }

    private func alter(
        _ resource: ConfigResource, changes: [AlterConfigsRequest.Change], incremental: Bool,
        onlyChecks: Bool
    ) -> AlterConfigsResponse.Outcome {
        var outcome = AlterConfigsResponse.Outcome(resource: resource)
        guard resource.kind == ConfigResource.topic else {
            outcome.error = .invalidRequest
            outcome.message = "only topics' settings change here; give the broker's at its start"
            return outcome
        }
        guard let topic = node.topics.topic(named: resource.name) else {
            outcome.error = .unknownTopicOrPartition
            outcome.message = "topic \(resource.name) does not exist"
            return outcome
        }
        var overrides = incremental ? topic.settings.overrides : [:]
        for change in changes {
            guard let step = AlterConfigsRequest.ChangeOperation(rawValue: change.step) else {
                outcome.error = .invalidRequest
                outcome.message = "setting \(change.name): operation \(change.step) is unknown"
                return outcome
            }
            // Checks the given value first, and the result later, because incremental steps add up.
            var message = SettingLength.refusal(name: change.name, value: change.value)
            if message == nil {
                let value = Self.value(of: change, operation: step, now: overrides[change.name])
                message = SettingLength.refusal(name: change.name, value: value)
                overrides[change.name] = value
            }
            if let message {
                outcome.error = .invalidConfig
                outcome.message = message
                return outcome
            }
        }
        do throws(TopicStoreError) {
            if onlyChecks {
                try TopicStore.validate(settings: overrides)
            } else {
                try node.topics.alter(resource.name, settings: overrides)
            }
        } catch {
            outcome.error = error.code
            outcome.message = error.description
        }
        return outcome
    }

    private static func value(
        of change: AlterConfigsRequest.Change, operation step: AlterConfigsRequest.ChangeOperation,
        now: String?
    ) -> String? {
        let words = (now ?? "").split(separator: ",").map(String.init)
        let given = (change.value ?? "").split(separator: ",").map(String.init)
        switch step {
        case .set: return change.value
        case .delete: return nil
        case .append: return (words + given.filter { !words.contains($0) }).joined(separator: ",")
        case .subtract: return words.filter { !given.contains($0) }.joined(separator: ",")
        }
    }
}

extension TopicStore {
    static func validate(settings overrides: [String: String]) throws(TopicStoreError) {
        do throws(TopicSettingError) {
            _ = try TopicSettings(overrides: overrides)
        } catch {
            throw .badSetting(error)
        }
    }
}

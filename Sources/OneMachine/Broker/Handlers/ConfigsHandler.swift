/// Shows and changes the settings of topics; shows the broker's.
struct ConfigsHandler {
    unowned let node: BrokerNode

    // MARK: Show

    func describe(_ request: DescribeConfigsRequest, _ exchange: Exchange) {
        let described = request.resources.firstOfEach(\.resource).map { describe($0.resource, $0.names) }
        let response = DescribeConfigsResponse(described: described)
        exchange.answer { response.write(to: &$0, version: exchange.version, request: request) }
    }

    private func describe(
        _ resource: ConfigResource, _ names: [String]?
    ) -> DescribeConfigsResponse.Described {
        var answer = DescribeConfigsResponse.Described(resource: resource)
        switch resource.kind {
        case ConfigResource.topic:
            guard let topic = node.topics.topic(named: resource.name), node.sight(of: topic.name) != .unknown
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
        topic.settings.described.map { setting in
            DescribedSetting(
                name: setting.name, value: setting.value, source: setting.isDefault ? .standard : .topic,
                kind: .init(of: setting.name))
        }
    }

    private var brokerSettings: [DescribedSetting] {
        func fixed(_ name: String, _ value: some CustomStringConvertible, kind: DescribedSetting.Kind)
            -> DescribedSetting
        {
            DescribedSetting(
                name: name, value: value.description, source: .broker, kind: kind, isReadOnly: true)
        }
        return [
            fixed("broker.id", Node.id, kind: .int),
            fixed("auto.create.topics.enable", false, kind: .boolean),
            fixed("num.partitions", node.settings.defaultPartitions, kind: .int),
            fixed("default.replication.factor", 1, kind: .int),
            fixed("socket.request.max.bytes", node.settings.limits.requestBytesMax, kind: .int),
            fixed("fetch.max.bytes", node.settings.limits.fetchBytesMax, kind: .int),
        ]
    }

    // MARK: Change

    func alter(_ request: AlterConfigsRequest, incremental: Bool, _ exchange: Exchange) {
        let outcomes = request.resources.map { resource, changes in
            alter(resource, changes, incremental: incremental, onlyChecks: request.onlyChecks)
        }
        exchange.answer { AlterConfigsResponse(outcomes: outcomes).write(to: &$0) }
    }

    private func alter(
        _ resource: ConfigResource, _ changes: [AlterConfigsRequest.Change], incremental: Bool,
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
            guard let step = AlterConfigsRequest.Step(rawValue: change.step) else {
                outcome.error = .invalidRequest
                outcome.message = "setting \(change.name): operation \(change.step) is unknown"
                return outcome
            }
            // Checks the given value first, and the result later, because incremental steps add up.
            var message = SettingLength.refusal(change.name, change.value)
            if message == nil {
                let value = Self.value(of: change, step, now: overrides[change.name])
                message = SettingLength.refusal(change.name, value)
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
                try TopicStore.check(overrides)
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
        of change: AlterConfigsRequest.Change, _ step: AlterConfigsRequest.Step, now: String?
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
    static func check(_ overrides: [String: String]) throws(TopicStoreError) {
        do throws(TopicSettingError) {
            _ = try TopicSettings(overrides)
        } catch {
            throw .badSetting(error)
        }
    }
}

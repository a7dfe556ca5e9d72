/// The handler of DescribeConfigs, AlterConfigs and IncrementalAlterConfigs. The settings of topics can be
/// changed; those of the broker are only shown.
struct ConfigsHandler {
    unowned let node: BrokerNode

    // MARK: Describe

    func describe(_ request: DescribeConfigsRequest, for exchange: RequestExchange) {
        let described = request.queries.uniqued(by: \.resource).map {
            describe($0.resource, names: $0.names)
        }
        let response = DescribeConfigsResponse(resources: described)
        exchange.answer { response.write(to: &$0, version: exchange.version, request: request) }
    }

    private func describe(
        _ resource: ConfigResource, names: [String]?
    ) -> DescribeConfigsResponse.DescribedResource {
        var described = DescribeConfigsResponse.DescribedResource(resource: resource)
        switch resource.kind {
        case ConfigResource.topic:
            guard let topic = node.topics.topic(named: resource.name),
                node.visibility(of: topic.name) != .unknown
            else {
                described.error = .unknownTopicOrPartition
                described.message = "topic \(resource.name) does not exist"
                return described
            }
            described.settings = Self.settings(of: topic)
        case ConfigResource.broker where resource.name == String(Node.id):
            described.settings = brokerSettings
        case ConfigResource.broker:
            described.error = .invalidRequest
            described.message = "broker \(resource.name) is not here; this one is \(Node.id)"
        default:
            described.error = .invalidRequest
            described.message =
                "resources of kind \(resource.kind) have no settings here; ask for topics or brokers"
        }
        // Older clients send an empty list to ask for all settings.
        if let names, !names.isEmpty { described.settings.removeAll { !names.contains($0.name) } }
        return described
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

    // MARK: Alter

    func alter(_ request: AlterConfigsRequest, incremental: Bool, for exchange: RequestExchange) {
        let outcomes = request.resources.map {
            alter(
                $0.resource, changes: $0.changes, incremental: incremental, onlyChecks: request.validateOnly)
        }
        exchange.answer { AlterConfigsResponse(outcomes: outcomes).write(to: &$0) }
    }

    private func alter(
        _ resource: ConfigResource, changes: [AlterConfigsRequest.Change], incremental: Bool,
        onlyChecks: Bool
    ) -> AlterConfigsResponse.Outcome {
        func refused(_ error: ErrorCode, message: String) -> AlterConfigsResponse.Outcome {
            AlterConfigsResponse.Outcome(resource: resource, error: error, message: message)
        }
        guard resource.kind == ConfigResource.topic else {
            return refused(
                .invalidRequest, message: "only topics' settings change here; give the broker's at its start")
        }
        guard let topic = node.topics.topic(named: resource.name) else {
            return refused(
                .unknownTopicOrPartition, message: "topic \(resource.name) does not exist")
        }
        // AlterConfigs replaces all settings, so it begins with none.
        var overrides = incremental ? topic.settings.overrides : [:]
        if let refusal = Self.apply(changes, to: &overrides) {
            return refused(refusal.code, message: refusal.message)
        }
        do throws(TopicStoreError) {
            if onlyChecks {
                try TopicStore.validate(settings: overrides)
            } else {
                try node.topics.alter(resource.name, settings: overrides)
            }
        } catch {
            return refused(error.code, message: error.description)
        }
        return AlterConfigsResponse.Outcome(resource: resource)
    }

    /// Applies changes in their order. Returns the reason of the first that cannot be applied.
    static func apply(
        _ changes: [AlterConfigsRequest.Change], to overrides: inout [String: String]
    ) -> Refusal? {
        for change in changes {
            guard let operation = AlterConfigsRequest.ChangeOperation(rawValue: change.operation) else {
                return Refusal(
                    code: .invalidRequest,
                    message: "setting \(change.name): operation \(change.operation) is unknown; use 0 to 3")
            }
            // Both the client's value and the result are limited, because additions make a value longer.
            if let refusal = Refusal.ofLongSetting(name: change.name, value: change.value) { return refusal }
            // As on Kafka, an addition or subtraction begins with the default if the setting is not set.
            let current = overrides[change.name] ?? TopicSettings.defaultValue(of: change.name)
            let value = Self.value(of: change, operation: operation, current: current)
            if let refusal = Refusal.ofLongSetting(name: change.name, value: value) { return refusal }
            overrides[change.name] = value
        }
        return nil
    }

    /// Returns the value after a change; nil for the default. Additions and subtractions change a list of
    /// words, such as `delete,compact`.
    private static func value(
        of change: AlterConfigsRequest.Change, operation: AlterConfigsRequest.ChangeOperation,
        current: String?
    ) -> String? {
        let currentWords = (current ?? "").split(separator: ",").map(String.init)
        let changedWords = (change.value ?? "").split(separator: ",").map(String.init)
        switch operation {
        case .set: return change.value
        case .delete: return nil
        case .append:
            let newWords = changedWords.filter { !currentWords.contains($0) }
            return (currentWords + newWords).joined(separator: ",")
        case .subtract:
            return currentWords.filter { !changedWords.contains($0) }.joined(separator: ",")
        }
    }
}

extension TopicStore {
    /// Throws if a topic could not have these settings.
    static func validate(settings overrides: [String: String]) throws(TopicStoreError) {
        do throws(TopicSettingError) {
            _ = try TopicSettings(overrides: overrides)
        } catch {
            throw .badSetting(error)
        }
    }
}

internal import CRdKafka

extension AdminClient {
    /// Returns the topics' settings, such as `cleanup.policy`, including defaults.
    package func configurations(
        of topics: [String], withinMilliseconds limit: Int = 5000
    ) throws(KafkaError) -> [String: [String: String]] {
        try describeConfigurations(of: topics, withinMilliseconds: limit, onlyExplicit: false)
    }

    /// Changes settings of topics. Keeps the topics' other explicit settings.
    package func alterConfigurations(
        _ changes: [String: [String: String]], withinMilliseconds limit: Int = 5000
    ) throws(KafkaError) {
        // The library's request replaces all explicit settings of a topic.
        let explicitSettings = try describeConfigurations(
            of: Array(changes.keys), withinMilliseconds: limit, onlyExplicit: true)
        var requests: [OpaquePointer?] = unsafe []
        defer { unsafe rd_kafka_ConfigResource_destroy_array(&requests, requests.count) }
        for (topic, changedSettings) in changes {
            let request = unsafe rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic)
            unsafe requests.append(request)
            let settings = (explicitSettings[topic] ?? [:]).merging(changedSettings) { _, changed in changed }
            for (name, value) in settings {
                _ = unsafe rd_kafka_ConfigResource_set_config(request, name, value)
            }
        }
        let failure = try unsafe performRequest(
            "alter topics", operation: RD_KAFKA_ADMIN_OP_ALTERCONFIGS, withinMilliseconds: limit
        ) { options, queue in
            unsafe rd_kafka_AlterConfigs(client.pointer, &requests, requests.count, options, queue)
        } read: { event -> KafkaError? in
            var count = 0
            let resources = unsafe rd_kafka_AlterConfigs_result_resources(
                rd_kafka_event_AlterConfigs_result(event), &count)
            return unsafe firstFailure(of: "alter topic", in: resources, count: count)
        }
        if let failure { throw failure }
    }

    /// - Parameter onlyExplicit: Whether to leave out defaults, including the defaults of the cluster.
    private func describeConfigurations(
        of topics: [String], withinMilliseconds limit: Int, onlyExplicit: Bool
    ) throws(KafkaError) -> [String: [String: String]] {
        var requests: [OpaquePointer?] = unsafe topics.map {
            unsafe rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, $0)
        }
        defer { unsafe rd_kafka_ConfigResource_destroy_array(&requests, requests.count) }
        let deadline = Deadline(milliseconds: limit)
        return try RetryPolicy.retry(until: deadline) { () throws(KafkaError) in
            let (configurations, failure) = try unsafe performRequest(
                "describe topics", operation: RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS,
                withinMilliseconds: deadline.millisecondsLeft
            ) { options, queue in
                unsafe rd_kafka_DescribeConfigs(client.pointer, &requests, requests.count, options, queue)
            } read: { event in
                unsafe readConfigurations(from: event, onlyExplicit: onlyExplicit)
            }
            if let failure { throw failure }
            return configurations
        }
    }
}

/// Returns the error of the first topic that has one, or nil.
private func firstFailure(
    of action: String, in resources: UnsafeMutablePointer<OpaquePointer?>?, count: Int
) -> KafkaError? {
    for index in 0..<count {
        guard let resource = unsafe resources?[index] else { continue }
        let code = unsafe KafkaErrorCode(rd_kafka_ConfigResource_error(resource))
        guard code != .none else { continue }
        let name = unsafe String(cString: rd_kafka_ConfigResource_name(resource))
        let text = unsafe rd_kafka_ConfigResource_error_string(resource).map { unsafe String(cString: $0) }
        return KafkaError(action: "\(action) \(name)", code: code, text: text ?? code.text)
    }
    return nil
}

/// Returns the settings of each topic, or the error of the first topic that has one.
private func readConfigurations(
    from event: OpaquePointer, onlyExplicit: Bool
) -> ([String: [String: String]], KafkaError?) {
    var configurations: [String: [String: String]] = [:]
    var count = 0
    let resources = unsafe rd_kafka_DescribeConfigs_result_resources(
        rd_kafka_event_DescribeConfigs_result(event), &count)
    if let failure = unsafe firstFailure(of: "describe topic", in: resources, count: count) {
        return ([:], failure)
    }
    for index in 0..<count {
        guard let resource = unsafe resources?[index] else { continue }
        var entryCount = 0
        let entries = unsafe rd_kafka_ConfigResource_configs(resource, &entryCount)
        var settings: [String: String] = [:]
        for entryIndex in 0..<entryCount {
            guard let entry = unsafe entries?[entryIndex],
                let value = unsafe rd_kafka_ConfigEntry_value(entry)
            else { continue }
            let source = unsafe rd_kafka_ConfigEntry_source(entry)
            if onlyExplicit, source != RD_KAFKA_CONFIG_SOURCE_DYNAMIC_TOPIC_CONFIG { continue }
            unsafe settings[String(cString: rd_kafka_ConfigEntry_name(entry))] = String(cString: value)
        }
        unsafe configurations[String(cString: rd_kafka_ConfigResource_name(resource))] = settings
    }
    return (configurations, nil)
}

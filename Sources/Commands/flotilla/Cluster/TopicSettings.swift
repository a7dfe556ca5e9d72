internal import Settings
internal import Topics

/// The settings of the topics' names and partitions, the same for every process of an installation.
struct TopicSettings: OperatorSettings {
    var prefix = TopicLayout.prefixDefault
    var lanes = TopicLayout.lanesDefault
    var replication = 3

    static let declared = SettingsGroup(prefix: "topics", defaults: TopicSettings()) { declare in
        declare(
            "prefix", sets: \.prefix,
            "prefix of every topic's name; installations that share a cluster need different ones",
            check: { TopicLayout.problem(withPrefix: $0) })
        declare(
            "lanes", sets: \.lanes, in: 1...TopicLayout.lanesMax,
            "partitions of every topic that is partitioned by recipient; the most processes that a stage can use; fixed once created"
        )
        declare(
            "replication", sets: \.replication, in: 1...9,
            "replicas of each partition that `flotilla topics create` requests")
    }
}

extension TopicLayout {
    /// - Parameter replication: replaces the setting, for `flotilla up`, whose broker is one node.
    init(settings: ResolvedSettings, replication: Int? = nil) {
        let topicSettings = settings[TopicSettings.self]
        self.init(
            prefix: topicSettings.prefix, lanes: topicSettings.lanes,
            replication: replication ?? topicSettings.replication)
    }
}

internal import Broker
internal import Kafka
internal import Settings

/// Every setting that the binary knows. Every command accepts all of them, so that one file can serve all
/// processes, and a mistyped key is found by each.
enum AllSettings {
    /// The groups in the order of the operator's table.
    private static let groups: [[SettingDeclaration]] = [
        ProcessSettings.declared.declarations, KafkaSettings.declared.declarations,
        TopicSettings.declared.declarations, SealingSettings.declared.declarations,
        RunSettings.declared.declarations, StageKind.all.flatMap(\.settings),
        UpSettings.declared.declarations, BrokerSettings.declared.declarations,
        SimulatorCommandSettings.declared.declarations,
    ]

    static let schema = SettingsSchema(declarations: groups.flatMap(\.self))
}

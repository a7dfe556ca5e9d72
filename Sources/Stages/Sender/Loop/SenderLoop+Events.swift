internal import Identifiers
internal import InstallationRecords
internal import Telemetry

// The plan's events, in the log and the metrics.
extension SenderLoop {
    func report(_ event: DeliveryActions.Event) {
        switch event {
        case .breakerOpened(let name, let reason):
            metrics.breaker(of: name.app, environment: name.environment.rawValue).set(1)
            log.error(
                "apns refuses an app's pushes; its pushes are paused and no token is dropped: correct the setting",
                .field("app", name.app), .field("environment", name.environment.rawValue),
                .field("reason", reason), .field("setting", Self.setting(for: reason)))
        case .breakerClosed(let name):
            metrics.breaker(of: name.app, environment: name.environment.rawValue).set(0)
            log.info(
                "apns accepts an app's pushes again", .field("app", name.app),
                .field("environment", name.environment.rawValue))
        case .unprovenTokensRefused(let name, let reason):
            log.warning(
                "apns refuses most tokens that it never accepted before; they use separate connections: if the app is new, correct its setting, otherwise look for invented reports",
                .field("app", name.app), .field("environment", name.environment.rawValue),
                .field("reason", reason), .field("setting", Self.setting(for: reason)))
        case .settling(let lane, let milliseconds):
            log.info(
                "the last pushes of an earlier sender may still be in flight; its jobs wait",
                .field("lane", lane),
                .field("milliseconds", milliseconds))
        case .opened: break
        case .drainedLate(let lane):
            log.warning(
                "a lane is given back before all its pushes have ended; the next owner waits for them",
                .field("lane", lane))
        }
    }

    /// Returns the setting to correct, for the log.
    ///
    /// - Parameter reason: of APNs, or `no_provider_key` of the sender.
    private static func setting(for reason: String) -> String {
        switch reason {
        case "BadDeviceToken": "the app's environment: production does not know sandbox tokens"
        case "DeviceTokenNotForTopic", "BadTopic", "TopicDisallowed": "the app's bundle id"
        case "no_provider_key": "the key file of the app's team and key id, under sender.keys"
        case "ExpiredProviderToken": "the clocks of the cluster and of this machine"
        default: "the app's team id, key id and key file"
        }
    }
}

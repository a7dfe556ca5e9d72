internal import Identifiers
internal import JSON

/// The send behind the newest push to a touched activity, and the schedule behind that send.
package struct TapOrigin: Sendable, Equatable {
    package var sendID: String
    package var scheduleID: String?
    package var scheduleName: String?

    package init(sendID: String, scheduleID: String? = nil, scheduleName: String? = nil) {
        self.sendID = sendID
        self.scheduleID = scheduleID
        self.scheduleName = scheduleName
    }

    /// Reads the answer of the insight stage. Nil for any other JSON.
    init?(answer: [UInt8]) {
        let origin = try? JSONReader().read(answer) { root -> TapOrigin in
            let object = root.object()
            return TapOrigin(
                sendID: object["sendId"].name(), scheduleID: object["scheduleId"].optional?.name(),
                scheduleName: object["scheduleName"].optional?.name())
        }
        guard let origin else { return nil }
        self = origin
    }
}

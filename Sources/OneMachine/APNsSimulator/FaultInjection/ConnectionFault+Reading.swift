internal import HTTP2
internal import JSON

extension InjectedFault.ConnectionFault {
    /// The field names, for messages.
    static let fieldNames = "goaway, settings, stallMilliseconds, starveWindows, resetAfterBytes and close"

    /// Returns every fault that an object names. There should be exactly one.
    static func all(in object: JSONObject) -> [Self] {
        var faults: [Self] = []
        if let goaway = object["goaway"].optional { faults.append(.init(goaway: goaway)) }
        if let settings = object["settings"].optional { faults.append(.init(settings: settings)) }
        if let stall = object["stallMilliseconds"].optional {
            faults.append(.stall(milliseconds: stall.milliseconds()))
        }
        if object["starveWindows"].isTrue { faults.append(.starveWindows) }
        if let bytes = object["resetAfterBytes"].optional {
            faults.append(.resetAfter(bytes: bytes.int(in: 0...(1 << 30))))
        }
        if object["close"].isTrue { faults.append(.close) }
        return faults
    }

    init(goaway value: JSONValue) {
        let object = value.object()
        self = .init(goawayFields: object)
        object.reportUnknownFields()
    }

    init(goawayFields object: JSONObject) {
        let reason = object["reason"].optional?.string()
        if (reason?.utf8.count ?? 0) > reasonBytesMax {
            object["reason"].report("must have at most \(reasonBytesMax) bytes")
        }
        self = .goaway(
            object["code"].optional?.errorCode() ?? .noError,
            streamsBack: object["streamsBack"].optional?.int(in: 0...Int(Int32.max)) ?? 0, reason: reason,
            thenClose: object["thenClose"].optional?.bool() ?? true)
    }

    init(settings value: JSONValue) {
        let object = value.object()
        self = .init(settingsFields: object)
        object.reportUnknownFields()
    }

    init(settingsFields object: JSONObject) {
        self = .settings(streamsMax: object["streamsMax"].int(in: 0...Int(Int32.max)))
    }
}

private let reasonBytesMax = 256

extension JSONValue {
    /// Whether a switch is on. False counts as absent.
    fileprivate var isTrue: Bool { optional?.bool() ?? false }
}

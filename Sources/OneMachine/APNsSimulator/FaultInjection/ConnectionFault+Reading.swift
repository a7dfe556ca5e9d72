internal import HTTP2
internal import JSON

/// Reading of connection faults from JSON. In a script each fault is a field of a rule or of a step, for
/// example `"goaway": {"streamsBack": 2}` or `"stallMilliseconds": 500`.
extension InjectedFault.ConnectionFault {
    /// Limit on the reason in a GOAWAY.
    private static let reasonBytesMax = 256

    /// The field names, for messages.
    static let fieldNames = "goaway, settings, stallMilliseconds, starveWindows, resetAfterBytes and close"

    /// Returns every fault that an object has a field for. The caller reports if there are several.
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

    private init(goaway value: JSONValue) {
        let object = value.object()
        self = .init(goawayFields: object)
        object.reportUnknownFields()
    }

    /// - Parameter object: an object with the fields of a GOAWAY and perhaps others.
    init(goawayFields object: JSONObject) {
        let reason = object["reason"].optional?.string()
        if (reason?.utf8.count ?? 0) > Self.reasonBytesMax {
            object["reason"].report("must have at most \(Self.reasonBytesMax) bytes")
        }
        self = .goaway(
            object["code"].optional?.errorCode() ?? .noError,
            streamsBack: object["streamsBack"].optional?.int(in: 0...Int(Int32.max)) ?? 0, reason: reason,
            thenClose: object["thenClose"].optional?.bool() ?? true)
    }

    private init(settings value: JSONValue) {
        let object = value.object()
        self = .init(settingsFields: object)
        object.reportUnknownFields()
    }

    /// - Parameter object: an object with the fields of a SETTINGS frame and perhaps others.
    init(settingsFields object: JSONObject) {
        self = .settings(streamsMax: object["streamsMax"].int(in: 0...Int(Int32.max)))
    }
}

extension JSONValue {
    /// Whether the value is true. False and a missing value are equivalent.
    fileprivate var isTrue: Bool { optional?.bool() ?? false }
}

internal import HTTP2
internal import JSON

/// The JSON form of a connection fault, with the field that `ConnectionFault+Reading` reads.
extension InjectedFault.ConnectionFault {
    /// Writes the fault as one field, for example `"stallMilliseconds": 500`.
    func writeField(to json: inout JSONWriter) {
        switch self {
        case .goaway(let code, let streamsBack, let reason, let thenClose):
            json.object("goaway") { json in
                json.name("code")
                code.write(to: &json)
                json.field("streamsBack", streamsBack)
                json.field("reason", reason)
                json.field("thenClose", thenClose)
            }
        case .settings(let streamsMax): json.object("settings") { $0.field("streamsMax", streamsMax) }
        case .stall(let milliseconds): json.field("stallMilliseconds", milliseconds)
        case .starveWindows: json.field("starveWindows", true)
        case .resetAfter(let bytes): json.field("resetAfterBytes", bytes)
        case .close: json.field("close", true)
        }
    }
}

extension HTTP2ErrorCode {
    /// Writes the name of the code, or its number if it has no name.
    func write(to json: inout JSONWriter) {
        if HTTP2ErrorCode.named(description) == self {
            json.value(description)
        } else {
            json.value(Int(rawValue))
        }
    }
}

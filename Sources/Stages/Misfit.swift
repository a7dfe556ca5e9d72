package import LiveActivity

/// Why a record goes to the dead letters.
package struct Misfit: Error {
    package let code: String
    package let reason: String

    package init(_ code: String, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    package init(_ error: RecordError) { self.init(error.code, error.description) }
}

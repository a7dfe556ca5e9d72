internal import HTTPServer
internal import JSON
internal import Sends

/// The refusal of a request, with all of its problems.
package struct RefusedRequest: Error, Sendable, Equatable {
    /// The HTTP status of the answer.
    let status: Int
    /// The problems, never empty.
    package let problems: [RequestProblem]
    /// The object that the request conflicts with, or nil.
    private(set) var object: ConflictingObject?

    /// An object that a client can look at after a conflict.
    enum ConflictingObject: Sendable, Equatable {
        /// A send by its id.
        case send(String)
        /// A notification definition by its number.
        case definition(Int64)

        fileprivate var path: String {
            switch self {
            case .send(let id): "/v1/sends/\(id)"
            case .definition(let number): "/v1/definitions/\(number)"
            }
        }
    }

    init(_ problems: [RequestProblem], status: Int = 422) {
        precondition(!problems.isEmpty, "a refusal has a reason")
        self.status = status
        self.problems = problems
    }

    /// Makes the refusal of a request whose idempotency key came with another body before.
    ///
    /// - Parameter object: The result of the first request.
    static func idempotencyConflict(with object: ConflictingObject) -> RefusedRequest {
        var refusal = RefusedRequest(
            [
                RequestProblem(
                    code: "idempotency_conflict", at: "Idempotency-Key",
                    message:
                        "was used with another body, and that request counts; use a new key for each request"
                )
            ], status: 409)
        refusal.object = object
        return refusal
    }

    /// Makes the refusal of a send whose caller has not seen the newest state.
    static func newerState(refusing send: Send) -> RefusedRequest {
        var refusal = RefusedRequest(
            [
                RequestProblem(
                    code: "newer_state", at: "ifVersion",
                    message:
                        "is not the newest version any more, and nothing was sent; read the group again, and send with a new Idempotency-Key"
                )
            ], status: 409)
        refusal.object = .send(send.id)
        return refusal
    }

    /// Makes the refusal of a body that could not be read.
    init(_ error: JSONError) {
        self.init(error.problems.map(RequestProblem.init), status: error.httpStatus)
    }

    /// Whether the request may succeed after the catalog is read to its end.
    var hasUnknownName: Bool { problems.contains(where: \.isUnknown) }

    /// The answer with all problems. Its `error` repeats the first one, for programs that read only `error`.
    var response: HTTPResponse {
        let firstProblem = problems[0]
        var json = JSONWriter(capacity: 1024)
        json.beginObject()
        json.name("error")
        json.beginObject()
        json.field("code", firstProblem.code)
        json.field("message", firstProblem.description)
        json.field("field", firstProblem.field.isEmpty ? nil : firstProblem.field)
        json.endObject()
        json.name("problems")
        json.beginArray()
        for problem in problems { problem.write(to: &json) }
        json.endArray()
        switch object {
        case .send(let id): json.field("sendId", id)
        case .definition(let number): json.field("notificationKey", "\(number)")
        case nil: break
        }
        json.endObject()
        var response = HTTPResponse.json(json.bytes, status: status)
        if let object { response.headers.add("Location", value: object.path) }
        return response
    }
}

extension JSONError {
    /// The status of the answer to this body: 422 if it is JSON with wrong fields, 400 if it is not JSON.
    var httpStatus: Int {
        switch problems[0].code {
        case .wrongType, .missing, .unknownField, .outOfRange, .invalid: 422
        case .tooLarge: 413
        case .outOfMemory: 503
        default: 400
        }
    }
}

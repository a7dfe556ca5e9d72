internal import HTTPServer
internal import JSON
internal import Lifecycle

/// A batch of sends that is carried out: it collects the answers to its sends, and answers the client when it has all of
/// them. Any thread may call it.
final class SendBatch: Sendable {
    private struct Answers {
        var responses: [HTTPResponse?]
        var missingCount: Int
    }

    /// The number of sends.
    let count: Int
    private let reply: HTTPReply
    /// The headers about the caller's rate, after the batch was charged.
    private let limitHeaders: HTTPHeaders
    private let pendingLimit: PendingRequestLimit
    private let bodyBytes: Int
    private let answers: TracedLock<Answers>

    /// - Parameters:
    ///   - count: The number of sends, at least one.
    ///   - bodyBytes: The size of the batch's body. `pendingLimit` has reserved it, and a request for each send.
    init(
        count: Int, reply: HTTPReply, limitHeaders: HTTPHeaders, bodyBytes: Int,
        pendingLimit: PendingRequestLimit
    ) {
        precondition(count > 0, "a batch has a send")
        (self.count, self.reply, self.limitHeaders) = (count, reply, limitHeaders)
        (self.bodyBytes, self.pendingLimit) = (bodyBytes, pendingLimit)
        answers = TracedLock(
            Answers(responses: Array(repeating: nil, count: count), missingCount: count))
    }

    /// Takes the answer to one send. The last one answers the client.
    func answer(_ response: HTTPResponse, at index: Int) {
        let responses = answers.withLock { answers -> [HTTPResponse?]? in
            precondition(answers.responses[index] == nil, "each send of a batch is answered once")
            answers.responses[index] = response
            answers.missingCount -= 1
            return answers.missingCount == 0 ? answers.responses : nil
        }
        guard let responses else { return }
        pendingLimit.release(requests: count, bytes: bodyBytes)
        reply.send(Self.response(from: responses.compactMap(\.self), limitHeaders: limitHeaders))
    }

    /// Returns the answer to the batch: for each send, its index, the status of its answer, and the members of its
    /// answer's body.
    private static func response(from responses: [HTTPResponse], limitHeaders: HTTPHeaders) -> HTTPResponse {
        var body = Array(#"{"items":["#.utf8)
        for (index, response) in responses.enumerated() {
            if index > 0 { body.append(UInt8(ascii: ",")) }
            body += Array(#"{"index":\#(index),"status":\#(response.status),"#.utf8)
            // The answer to a send is a JSON object. Its members follow here, without the opening brace.
            body += response.body.dropFirst()
        }
        body += Array("]}".utf8)
        var response = HTTPResponse.json(body)
        response.headers = response.headers.adding(limitHeaders)
        return response
    }
}

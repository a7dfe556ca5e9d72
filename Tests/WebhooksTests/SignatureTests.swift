import Cryptography
import Foundation
import Testing

@testable import Webhooks

/// Tests of the header with the signatures of a call.
struct SignatureTests {
    @Test func `the example of the Standard Webhooks specification has the published signature`() throws {
        let key = try #require(Data(base64Encoded: "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
        let header = WebhookSignature.header(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", seconds: 1_614_265_330,
            body: Array(#"{"test": 2432232314}"#.utf8), keys: [SecretBytes(copying: Array(key))])
        #expect(header == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test func `two keys give two signatures`() {
        let keys = [1, 2].map { SecretBytes(copying: [UInt8](repeating: $0, count: 32)) }
        let both = WebhookSignature.header(id: "a", seconds: 1, body: [1], keys: keys).split(separator: " ")
        let first = WebhookSignature.header(id: "a", seconds: 1, body: [1], keys: [keys[0]])
        #expect(both.count == 2 && both[0] == first && both[1] != both[0])
    }
}

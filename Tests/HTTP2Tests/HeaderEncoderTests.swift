import Simulation
import Testing

@testable import HTTP2

/// Header blocks written from templates and read by nghttp2's independent decoder.
@Suite struct HeaderEncoderTests {
    private static let seedCount = trialCount(base: 300)

    @Test func `all fields arrive for any sequence of templates and any table of the peer`() throws {
        for seed in 0..<HeaderEncoderTests.seedCount {
            var random = SeededGenerator(seed: seed)
            let wire = Wire.open(fragment: [50, 16_384][random.number(below: 2)])
            let samples = try (0..<(1 + random.number(below: 5))).map { _ in try Sample(using: &random) }
            for step in 0..<60 {
                if random.number(below: 8) == 0 {
                    let size = UInt32([0, 40, 120, 500, 4_096, 100_000][random.number(below: 6)])
                    wire.server.changeSettings(SettingsChange(headerTableBytes: size))
                    if random.number(below: 2) == 0 { wire.settle() }
                }
                let sample = samples[random.number(below: samples.count)]
                let path = "/" + String(repeating: "p", count: random.number(below: 3) * 130) + "\(step)"
                let id = random.number(below: 3) == 0 ? "" : "id-\(step)"
                wire.client.push(path, id: id, body: [], template: sample.template)
                wire.settle()
                let batch = wire.server.requests
                try #require(batch.requests.count == 1, "seed \(seed), step \(step): \(wire.server.events)")
                let fields = batch.fields(of: batch.requests[0]).map {
                    "\(text($0.name)!): \(text($0.value)!)"
                }
                let varyingFields = id.isEmpty ? [] : ["apns-id: \(id)"]
                #expect(
                    fields == sample.pseudoFields + [":path: \(path)"] + sample.otherFields + varyingFields,
                    "seed \(seed)")
                wire.server.answerAll()
                wire.settle()
                wire.client.clearOutcomes()
            }
        }
    }

    /// A template and the fields that must arrive.
    private struct Sample {
        let template: RequestTemplate
        /// The fields before the path, which begin with a colon.
        let pseudoFields: [String]
        let otherFields: [String]

        init(using random: inout SeededGenerator) throws {
            let method = ["POST", "GET", "DELETE"][random.number(below: 3)]
            let authority = "host-\(random.number(below: 2))"
            let names = ["authorization", "apns-topic", "apns-priority", "age", "x", "accept"]
            var headers: [(String, String)] = []
            for _ in 0..<random.number(below: 7) {
                let value =
                    String(repeating: "v", count: random.number(below: 4) * random.number(below: 400))
                    + "\(random.number(below: 4))"
                headers.append((names[random.number(below: names.count)], value))
            }
            // Some fields do not enter the peer's table. The lengths of the values choose them.
            template = try RequestTemplate(
                method: method, authority: authority,
                headers: headers.map { HeaderField(name: $0.0, value: $0.1, isIndexed: $0.1.count % 5 != 1) },
                varying: "apns-id")
            pseudoFields = [":method: \(method)", ":scheme: https", ":authority: \(authority)"]
            otherFields = headers.map { "\($0.0): \($0.1)" }
        }
    }

    @Test func `a field that HTTP/2 forbids is refused with its name, never with its value`() {
        func fault(_ fields: [HeaderField]) -> HeaderFieldError? {
            do throws(HeaderFieldError) {
                _ = try RequestTemplate(method: "POST", authority: "a", headers: fields)
                return nil
            } catch {
                return error
            }
        }
        #expect(fault([HeaderField(name: "Upper", value: "1")]) == .invalidName("Upper"))
        #expect(fault([HeaderField(name: ":path", value: "/")]) == .invalidName(":path"))
        #expect(fault([HeaderField(name: "", value: "1")]) == .invalidName(""))
        #expect(
            fault([HeaderField(name: "authorization", value: "bearer a\r\nb")])
                == .invalidValue(ofField: "authorization"))
        #expect(fault([HeaderField(name: "big", value: String(repeating: "~", count: 20_000))]) != nil)
        #expect(fault([HeaderField(name: "apns-topic", value: "com.example")]) == nil)
        let text = "\(HeaderFieldError.invalidValue(ofField: "authorization"))"
        #expect(text.contains("authorization") && !text.contains("bearer"))
    }
}

import Identifiers
import Jobs
import Payloads
import Sends
import Simulation
import Testing

// Tests of sheets: the records of the jobs topics. A sheet has its content in Kafka headers: `apns` and `flotilla` (the
// head, as lines of `name: value`), `to` (one line for each job) and, in a tier, `origin`.

private func makeHead() -> SheetHead {
    SheetHead(
        topic: "com.example.shop.push-type.liveactivity", priority: .immediate, expiration: 1_763_610_000,
        app: "shop", environment: .production, send: "s1", group: "m1", scope: .group, generation: 3,
        version: 1_763_600_000, event: .update, deadline: 1_763_620_000, acceptedAt: 1_763_600_000_123)
}

private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

/// Reads a head from the texts of its two headers.
private func readHead(apns: String, flotilla: String) throws(SheetError) -> SheetHead {
    try SheetHead(apns: Array(apns.utf8).span, flotilla: Array(flotilla.utf8).span)
}

/// Writes a head and reads it back.
private func reread(_ head: SheetHead) throws(SheetError) -> SheetHead {
    try readHead(apns: text(head.apnsLines), flotilla: text(head.flotillaLines))
}

/// Returns the jobs of a header `to`, each as its four texts.
private func jobs(in to: [UInt8]) throws(SheetError) -> [[String]] {
    var allJobs: [[String]] = []
    let jobs = try SheetJobs(parsing: to.span)
    jobs.forEachJob { line, job in
        #expect(line == allJobs.count)
        let parts = [Array(job.token), Array(job.installation), Array(job.entry), Array(job.recipient)]
        allJobs.append(parts.map(text))
    }
    #expect(allJobs.count == jobs.count)
    return allJobs
}

extension [UInt8] {
    fileprivate init(_ span: Span<UInt8>) {
        self = span.withUnsafeBufferPointer { Array($0) }
    }
}

@Test func `a sheet's head has these lines and reads back`() throws {
    var head = makeHead()
    #expect(
        text(head.apnsLines)
            == "apns-topic: com.example.shop.push-type.liveactivity\napns-priority: 10\napns-expiration: 1763610000\n"
    )
    #expect(
        text(head.flotillaLines)
            == "v: 1\napp: shop\nenvironment: production\nsend: s1\ngroup: m1\ngeneration: 3\nversion: 1763600000\nevent: update\ndeadline: 1763620000\naccepted-at: 1763600000123\n"
    )
    #expect(try reread(head) == head)
    head.isBroadcast = true
    head.scope = .recipient
    head.group = nil
    head.environment = .sandbox
    head.expiration = 0
    head.triesMax = 2
    head.isConflatable = false
    head.unknownStartPolicy = .resend
    head.collapseID = "c: d"
    head.event = .start
    #expect(try reread(head) == head)
    head.group = "m: 1 – \u{301}x"
    #expect(try reread(head) == head)
}

@Test func `a head with a missing or wrong line is refused with the line's name`() {
    let head = makeHead()
    func lines(_ bytes: [UInt8]) -> [Substring] { text(bytes).split(separator: "\n") }
    let optionalLines = ["group"]
    for isInAPNsHeader in [true, false] {
        let allLines = lines(isInAPNsHeader ? head.apnsLines : head.flotillaLines)
        for index in allLines.indices {
            let name = String(allLines[index].prefix { $0 != ":" })
            guard let line = SheetLineName(rawValue: name) else {
                Issue.record("\(name) is an unknown line")
                continue
            }
            var linesWithoutOne = allLines
            linesWithoutOne.remove(at: index)
            var linesWithOneWrong = allLines
            linesWithOneWrong[index] = "\(name): -1\u{1}"
            func read(_ changedLines: [Substring]) throws(SheetError) -> SheetHead {
                let changedHeader = changedLines.joined(separator: "\n")
                return try readHead(
                    apns: isInAPNsHeader ? changedHeader : text(head.apnsLines),
                    flotilla: isInAPNsHeader ? text(head.flotillaLines) : changedHeader)
            }
            if optionalLines.contains(name) {
                #expect((try? read(linesWithoutOne)) != nil)
            } else {
                #expect(throws: SheetError.missing(line)) { try read(linesWithoutOne) }
            }
            #expect(throws: SheetError.invalid(line)) { try read(linesWithOneWrong) }
        }
    }
    #expect(throws: SheetError.malformedLines) { try readHead(apns: "apns-topic\n", flotilla: "v: 1") }
    #expect(throws: SheetError.unknownVersion(2)) {
        try readHead(apns: text(head.apnsLines), flotilla: "v: 2\nnew: thing")
    }
    // A later version of Flotilla may add lines.
    let linesWithNewOne = text(head.flotillaLines) + "new: thing\n"
    #expect((try? readHead(apns: text(head.apnsLines), flotilla: linesWithNewOne)) == head)
}

@Test func `a sheet has one line for each job`() throws {
    var lines = JobLines()
    let rows = (0..<300).map {
        ["token\($0)", "phone-\($0)", "update:a\($0)", $0 % 2 == 0 ? "u:ben" : "i:phone-\($0)"]
    }
    for row in rows {
        lines.append(
            token: Array(row[0].utf8).span, installation: Array(row[1].utf8).span,
            entry: Array(row[2].utf8).span, recipient: Array(row[3].utf8).span)
    }
    #expect(lines.count == 300)
    #expect(try jobs(in: lines.bytes) == rows)
    #expect(try jobs(in: Array(lines.bytes.dropLast())) == rows)
    lines.removeAll()
    #expect(lines.count == 0)
    #expect(throws: SheetError.noJobs) { try jobs(in: lines.bytes) }
}

@Test func `the unproven lines of a sheet read back, and keep their jobs in a part of the sheet`() throws {
    var unproven = LineSet()
    for line in [0, 1, 2, 7] { unproven.append(line) }
    let header = UnprovenLines.headerValue(of: unproven)
    #expect(header.map { text($0) } == "0-2,7")
    #expect(try UnprovenLines.parse(header, lineCount: 8) == unproven)
    #expect(UnprovenLines.headerValue(of: LineSet()) == nil)
    #expect(try UnprovenLines.parse(nil, lineCount: 8).isEmpty, "an old sheet has proven tokens only")
    for wrong in ["", "x", "0-9", "8", "2,1"] {
        #expect(throws: SheetError.invalidUnprovenLines) {
            try UnprovenLines.parse(Array(wrong.utf8), lineCount: 8)
        }
    }
    var part = LineSet()
    for line in [1, 3, 7] { part.append(line) }
    #expect(part.positions(of: unproven).text == "0,2")
    #expect(part.positions(of: LineSet()).isEmpty)
}

@Test(arguments: [
    "token\ti1\tupdate:a", "token\ti1\tupdate:a\tu:1\tmore", "\ti1\tupdate:a\tu:1", "token\t\tupdate:a\tu:1",
    "token\ti1\t\tu:1", "token\ti1\tupdate:a\t", "token\ti1\tupdate:a\tx:1", "token\ti1\tupdate:a\tu:", "",
])
func `a line that is not a job makes the sheet invalid, and the error has its number`(line: String) {
    #expect(throws: SheetError.invalidJob(1)) {
        try jobs(in: Array("token\ti1\tupdate:a\tu:1\n\(line)\ntoken\ti1\tupdate:a\tu:1".utf8))
    }
}

@Test func `a job and a receipt line may name the phone's system`() throws {
    var lines = JobLines()
    for (number, system) in [OSVersion(26, 1), nil, OSVersion(255, 0), OSVersion(5, 0), OSVersion(100, 0)]
        .enumerated()
    {
        lines.append(
            token: Array("c0ffee".utf8).span, installation: Array("p\(number)".utf8).span,
            entry: Array("update:a".utf8).span, recipient: Array("u:ann".utf8).span, system: system)
    }
    #expect(text(lines.bytes).hasPrefix("c0ffee\tp0\tupdate:a\tu:ann\t26\nc0ffee\tp1\tupdate:a\tu:ann\n"))
    #expect(try jobs(in: lines.bytes).allSatisfy { $0.last == "u:ann" })
    let index = try SheetIndex(parsing: lines.bytes)
    var selected = LineSet()
    for line in [0, 1, 4] { selected.append(line) }
    #expect(
        text(index.encodedLines(selected, from: lines.bytes))
            == "c0ffee\tp0\tupdate:a\tu:ann\t26\nc0ffee\tp1\tupdate:a\tu:ann\nc0ffee\tp4\tupdate:a\tu:ann\t100\n"
    )
    let receipt = index.lines.flatMap {
        lines.bytes[Int($0.addressee.lowerBound)..<Int($0.addressee.upperBound)] + [UInt8(ascii: "\n")]
    }
    #expect(ReceiptLines.systemVersions(in: receipt.span) == [26, 0, 255, 5, 100])
    let withoutLastNewline = Array(receipt.dropLast())
    #expect(ReceiptLines.systemVersions(in: withoutLastNewline.span) == [26, 0, 255, 5, 100])
    let nothing: [UInt8] = []
    #expect(ReceiptLines.systemVersions(in: nothing.span) == [])
    #expect(ReceiptLines.addressees(in: receipt.span).map(\.recipient) == Array(repeating: "u:ann", count: 5))
    for wrong in ["", "x", "256", "1000", "-1", "18\t1"] {
        let line = Array("c0ffee\tp\tupdate:a\tu:ann\t\(wrong)\n".utf8)
        #expect(throws: SheetError.self) { try SheetIndex(parsing: line) }
        #expect(throws: SheetError.self) { try jobs(in: line) }
    }
}

@Test func `a sheet has at most a thousand jobs`() throws {
    let line = Array("t\ti\te\tu:1\n".utf8)
    let full = Array(repeatElement(line, count: SheetHead.jobsMax).joined())
    #expect(try jobs(in: full).count == SheetHead.jobsMax)
    #expect(throws: SheetError.tooManyJobs) { try jobs(in: full + line) }
}

@Test func `the origin of a sheet has these lines and reads back`() throws {
    var lines = LineSet()
    for line in [0, 1, 2, 7, 9, 10] { lines.append(line) }
    var origin = SheetOrigin(
        topic: "flotilla.jobs", partition: 3, offset: 42, lines: lines, attempt: 2, dueAt: 1_763_600_005_000)
    #expect(
        text(origin.headerValue)
            == "topic: flotilla.jobs\npartition: 3\noffset: 42\nlines: 0-2,7,9-10\nattempt: 2\ndue-at: 1763600005000\n"
    )
    #expect(try SheetOrigin(parsing: origin.headerValue.span) == origin)
    origin.reason = "TooManyRequests"
    #expect(try SheetOrigin(parsing: origin.headerValue.span) == origin)
    #expect(throws: SheetError.invalid(.lines)) {
        try SheetOrigin(parsing: Array(text(origin.headerValue).replacing("7", with: "1").utf8).span)
    }
}

@Test func `a set of lines is stored as ranges`() {
    var generator = SeededGenerator(seed: UInt64.random(in: 0...UInt64.max))
    for _ in 0..<500 {
        let chosenLines = (0..<Int.random(in: 1...40, using: &generator)).filter { _ in
            Bool.random(using: &generator)
        }
        var set = LineSet()
        for line in chosenLines { set.append(line) }
        #expect(set.count == chosenLines.count)
        var visitedLines: [Int] = []
        set.forEachLine { visitedLines.append($0) }
        #expect(visitedLines == chosenLines)
        #expect((0..<40).filter(set.contains) == chosenLines)
        if !chosenLines.isEmpty { #expect(LineSet(text: set.text) == set) }
    }
    #expect(LineSet(all: 256).text == "0-255")
    #expect(LineSet(all: 0).isEmpty)
    for bad in ["", "1-", "-1", "2-1", "1,1", "1,0", "1-2,3", "1-1", "1000", "+1", "1 ", "1,,3", "0-5,4-6"] {
        #expect(LineSet(text: bad) == nil, "\(bad)")
    }
}

@Test func `a damaged sheet is refused or read, and never traps`() {
    let head = makeHead()
    let intact = head.flotillaLines
    var lines = JobLines()
    for index in 0..<5 {
        lines.append(
            token: Array("c0ffee".utf8).span, installation: Array("p\(index)".utf8).span,
            entry: Array("update:a".utf8).span, recipient: Array("u:1".utf8).span)
    }
    let seed = UInt64.random(in: 0...UInt64.max)
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<5000 {
        var flotilla = intact
        var to = lines.bytes
        for _ in 0..<3 {
            flotilla[Int.random(in: flotilla.indices, using: &generator)] = UInt8.random(
                in: 0...255, using: &generator)
            to[Int.random(in: to.indices, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
        }
        _ = try? SheetHead(apns: head.apnsLines.span, flotilla: flotilla.span)
        _ = try? SheetOrigin(parsing: flotilla.span)
        if let jobs = try? SheetJobs(parsing: to.span) { #expect(jobs.count <= 9, "seed \(seed)") }
    }
}

@Test func `a job with the system version 0 names no system`() throws {
    var lines = JobLines()
    lines.append(
        token: Array("c0ffee".utf8).span, installation: Array("p".utf8).span,
        entry: Array("update:a".utf8).span, recipient: Array("u:ann".utf8).span, system: OSVersion(0, 9))
    #expect(text(lines.bytes) == "c0ffee\tp\tupdate:a\tu:ann\n")
    #expect(try SheetIndex(parsing: lines.bytes).lines.count == 1)
}

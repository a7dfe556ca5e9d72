import Identifiers
import Testing

// Tokens, app ids, recipients and keys: their forms, and texts that are refused.

@Test func `a token is any even number of hexadecimal digits up to a limit, in either case`() {
    #expect(PushToken(hex: "aB")?.bytes == [0xAB])
    #expect(PushToken(hex: String(repeating: "a0", count: 80))?.bytes.count == 80)
    #expect(PushToken(hex: String(repeating: "00", count: PushToken.bytesMax)) != nil)
    for wrong in [
        "", "a", "abc", "zz", "a b0", String(repeating: "0", count: 2 * PushToken.bytesMax + 2), "ä0",
    ] {
        #expect(PushToken(hex: wrong) == nil, "\(wrong)")
    }
}

@Test func `every byte is decoded or refused equally at every position of a token`() {
    let digits = Array("0123456789abcdefABCDEF".utf8)
    var buffer: [UInt8] = []
    for position in 0..<20 {
        for byte in UInt8.min...UInt8.max {
            var token = (0..<20).map { digits[$0] }
            token[position] = byte
            var bytes: [UInt8]? = []
            for pair in stride(from: 0, to: token.count, by: 2) {
                guard let high = Hex.value(of: token[pair]), let low = Hex.value(of: token[pair + 1]) else {
                    bytes = nil
                    break
                }
                bytes?.append(high << 4 | low)
            }
            #expect(Hex.decode(token) == bytes && PushToken(hex: token)?.bytes == bytes, "\(token)")
            let isRead = PushToken.decode(hex: token.span, into: &buffer)
            #expect(isRead == (bytes != nil), "\(token)")
            #expect(bytes == nil || buffer == bytes, "\(token)")
            // The next iteration finds the buffer as it was left, longer or shorter.
            if byte == 0 { buffer = Array(repeating: 9, count: position) }
            let isPossible = token.withUnsafeBufferPointer { PushToken.isValid(hex: $0) }
            #expect(isPossible == (bytes != nil), "\(token)")
        }
    }
}

@Test func `an app's id has letters, digits, dots, underscores and dashes, and is not a path`() {
    for byte in UInt8.min...UInt8.max {
        let character = Character(Unicode.Scalar(byte))
        let isGood =
            character.isASCII && (character.isLetter || character.isNumber || "._-".contains(character))
        #expect((AppIDRules.problem("a\(character)") == nil) == isGood, "\(byte)")
    }
    for wrong in ["", ".", "..", "ä", String(repeating: "a", count: AppIDRules.bytesMax + 1)] {
        #expect(AppIDRules.problem(wrong) != nil, "\(wrong)")
    }
    for good in ["a", "-", "...", ".a", String(repeating: "a", count: AppIDRules.bytesMax)] {
        #expect(AppIDRules.problem(good) == nil, "\(good)")
    }
}

@Test func `every way of printing a token shows only the beginning of its hash`() {
    let digits = String(repeating: "c0ffee12", count: 8)
    let token = PushToken(hex: digits)!
    var dumped = ""
    dump(token, to: &dumped)
    for text in ["\(token)", String(reflecting: token), dumped, "\([token])", "\(Optional(token) as Any)"] {
        // The token begins with the byte 0xC0, which is 192.
        #expect(!text.contains("192") && !text.contains("c0ffee"), "\(text)")
        #expect(text.contains("tok:"))
    }
    #expect("\(token)".count == 12)
}

@Test func `a recipient is written as a user or an installation and reads back`() {
    for recipient in [Recipient.user("alice@example.com"), .installation("i-1"), .user("u:x/y")] {
        #expect(Recipient(text: recipient.text) == recipient)
    }
    for wrong in ["", "u:", "x:a", "alice", "i:\u{0}", "u:" + String(repeating: "a", count: 201)] {
        #expect(Recipient(text: wrong) == nil, "\(wrong)")
    }
}

@Test func `keys are readable, and no part can look like two`() {
    #expect(
        String(decoding: RecordKey.join("shop", "u:a/b", "50%\n"), as: UTF8.self) == "shop/u:a%2fb/50%25%0a")
    #expect(RecordKey.split(RecordKey.join("a")) == ["a"])
    #expect(RecordKey.split(RecordKey.join("", "")) == ["", ""])
    #expect(
        RecordKey.split(RecordKey.join("a/b", "c%d", "\u{1}\u{7f}", "ü")) == [
            "a/b", "c%d", "\u{1}\u{7f}", "ü",
        ])
    // Bytes that need an escape, at every position of short and long parts.
    for count in 1...20 {
        for position in 0..<count {
            for byte in ["/", "%", "\u{1F}", "\u{7F}"] {
                let letters = Array(repeating: "b", count: count)
                let part = (letters[..<position] + [byte] + letters[(position + 1)...]).joined()
                let key = RecordKey.join(part, "x")
                #expect(
                    key.count { $0 == UInt8(ascii: "/") } == 1 && key.count == part.utf8.count + 4, "\(part)")
                #expect(RecordKey.split(key) == [part, "x"])
            }
        }
    }
    for wrong in ["%", "a%4", "%zz"] { #expect(RecordKey.split(Array(wrong.utf8)) == nil) }
    #expect(RecordKey.split([0xFF, 0xFE]) == nil)
}

@Test func `names may contain nearly anything, app ids may not`() {
    for good in ["alice@example.com", "ars-liv-2025", "a/b", "日本"] { #expect(NameRules.problem(good) == nil) }
    for bad in ["", "a\nb", "\u{85}", String(repeating: "é", count: 101)] {
        #expect(NameRules.problem(bad) != nil)
    }
    for good in ["shop", "com.example.app_1-x"] { #expect(AppIDRules.problem(good) == nil) }
    for bad in ["", "a/b", "..", ".", "a b", "ä", String(repeating: "a", count: 65)] {
        #expect(AppIDRules.problem(bad) != nil)
    }
    #expect(AppIDRules.problemOfNewApp("flotilla") != nil, "the name of the installation in the audit")
    #expect(AppIDRules.problemOfNewApp("shop") == nil && AppIDRules.problemOfNewApp("a b") != nil)
}

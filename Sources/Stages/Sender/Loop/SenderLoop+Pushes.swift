internal import APNs
internal import Identifiers
internal import Jobs
internal import Lifecycle
internal import TokenSealing

// The departure of pushes: each line of a sheet becomes a push to its token, or to its channel if the send is a
// broadcast.
extension SenderLoop {
    /// Hands pushes to the client.
    func push(_ pushes: [DeliveryActions.Push]) {
        if pushes.isEmpty { return }
        let deadlines = pushDeadlines
        guard let client else {
            for push in pushes { reportNotTaken(push.tag, because: .stopped) }
            return
        }
        // Neighbors nearly always belong to one sheet, so shared parts are looked up once.
        var first = 0
        for index in pushes.indices {
            let isLastOfSheet = index + 1 == pushes.count || pushes[index + 1].sheet !== pushes[first].sheet
            guard isLastOfSheet else { continue }
            push(pushes[first...index], of: pushes[first].sheet, by: client, deadlines: deadlines)
            first = index + 1
        }
    }

    private func push(
        _ pushes: ArraySlice<DeliveryActions.Push>, of sheet: Sheet, by client: APNsClient,
        deadlines: PushDeadlines
    ) {
        guard let template = sheet.template else {
            for push in pushes { reportNotTaken(push.tag, because: .stopped) }
            return
        }
        if sheet.head.isBroadcast {
            for push in pushes { broadcast(push, first: template, deadlines: deadlines) }
            return
        }
        let linesText = sheet.content.to
        for index in pushes.indices {
            push(
                line: pushes[index].line, of: sheet, in: linesText, template,
                over: pushes[index].connections, by: client, deadlines: deadlines)
        }
    }

    /// - Parameter linesText: the record's header `to`, which has the tokens of all lines.
    private func push(
        line: Int, of sheet: Sheet, in linesText: [UInt8], _ template: PushTemplate,
        over connections: PushConnections, by client: APNsClient, deadlines: PushDeadlines
    ) {
        let tag = sheet.tag(of: line)
        // The buffer is reused. A new one would cost an allocation for each push.
        var token: [UInt8] = []
        swap(&token, &tokenBytes)
        defer { swap(&token, &tokenBytes) }
        guard readToken(line: line, of: sheet, in: linesText, into: &token) else {
            return plan.unusable(tag, code: "token_unreadable", at: time)
        }
        do {
            try client.push(
                template, token: token.span, id: sheet.pushID(of: line), tag: tag, deadlines: deadlines,
                over: connections)
        } catch {
            reportNotTaken(tag, because: error)
        }
    }

    /// Reads the line's token into a buffer, without an allocation for a token in plain text. Returns false if it is
    /// damaged, or sealed with an unknown key.
    private func readToken(
        line: Int, of sheet: Sheet, in linesText: [UInt8], into bytes: inout [UInt8]
    ) -> Bool {
        let field = sheet.index.lines[line].token
        let digits = linesText.span.extracting(Int(field.lowerBound)..<Int(field.upperBound))
        if PushToken.decode(hex: digits, into: &bytes) { return true }
        guard let token = token(of: sheet, line: line) else { return false }
        bytes = token.bytes
        return true
    }

    /// Returns the line's token, which may be sealed; nil if it is damaged, or sealed with an unknown key.
    func token(of sheet: Sheet, line: Int) -> PushToken? {
        let fields = sheet.index.lines[line]
        let linesText = sheet.content.to
        let digits = linesText.span.extracting(
            Int(fields.token.lowerBound)..<Int(fields.token.upperBound))
        if let token = PushToken(hex: digits) { return token }
        return try? seal.open(
            sheet.text(fields.token), app: sheet.head.app, entry: sheet.text(fields.entry))
    }

    /// Pushes to a channel. Each channel needs a separate request.
    ///
    /// - Parameter first: the request of the sheet's first line.
    private func broadcast(_ push: DeliveryActions.Push, first: PushTemplate, deadlines: PushDeadlines) {
        do {
            let template =
                push.line == 0
                ? first : try template(of: push.sheet, line: push.line, for: first.profile)
            try client?.push(
                template, token: Span(), id: push.sheet.pushID(of: push.line), tag: push.tag,
                deadlines: deadlines)
        } catch let refusal as PushRefusal {
            reportNotTaken(push.tag, because: refusal)
        } catch {
            plan.unusable(push.tag, code: "header_faulty", at: time)
        }
    }

    /// Reports to the plan a push that the client did not take.
    private func reportNotTaken(_ tag: UInt64, because refusal: PushRefusal) {
        let fault: PushFault =
            switch refusal {
            case .full: .noConnection
            case .stopped: .stopped
            case .noProviderKey: .noProviderKey
            }
        plan.ended(tag, as: PushAnswer(.notProcessed(fault)), at: time)
    }

    /// The deadlines of a push that leaves now.
    var pushDeadlines: PushDeadlines {
        let deadline = loop.now.advanced(byMilliseconds: settings.answerMilliseconds)
        return PushDeadlines(sendBy: plan.leasedUntil, deadline: deadline)
    }
}

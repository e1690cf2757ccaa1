import Bitstream
import Testing

@testable import Codec

@Suite struct UnitLedgerTests {
    private func unit(refresh: Bool = false, reference: Bool = true, recovery: Int? = nil) -> AccessUnitSummary {
        var summary = AccessUnitSummary()
        summary.hasSlice = true
        summary.isRefresh = refresh
        summary.isReference = reference
        summary.recoveryFrameCount = recovery
        return summary
    }

    private func comeOut(
        _ ledger: inout UnitLedger, _ number: Int64, key: Bool = false, interlaced: Bool = false,
        concealed: Bool = false
    ) -> PictureDamage? {
        ledger.cameOut(
            number, isKeyframe: key, isInterlaced: interlaced, wasConcealed: concealed, lacksReference: false)?.damage
    }

    @Test func aFieldOfItsOwnJoinsThePictureBefore() {
        var ledger = UnitLedger()
        let first = ledger.sent(id: 50, unit(refresh: true), [])
        ledger.settled(holdsNothing: true, isEnd: false)
        #expect(ledger.popLost() == nil)
        _ = ledger.sent(id: 51, unit(), [])
        #expect(comeOut(&ledger, first, key: true, interlaced: true) == [])
        _ = ledger.sent(id: 52, unit(), [])
        ledger.settled(holdsNothing: true, isEnd: false)
        let lost = ledger.popLost()
        #expect(lost?.id == 51 && lost?.fault == .secondField)
        #expect(ledger.popLost() == nil && ledger.unresolvedCount == 1)
    }

    @Test func aRefusedUnitIsLostAtOnceAndTaintsWhatFollows() {
        var ledger = UnitLedger()
        let first = ledger.sent(id: 0, unit(refresh: true), [])
        #expect(comeOut(&ledger, first, key: true) == [])
        ledger.failed(ledger.sent(id: 1, unit(), []))
        ledger.settled(holdsNothing: true, isEnd: false)
        #expect(ledger.popLost()?.fault == .undecodable)
        let third = ledger.sent(id: 2, unit(), [])
        #expect(comeOut(&ledger, third) == .reference)
        let fourth = ledger.sent(id: 3, unit(recovery: 0), [])
        #expect(comeOut(&ledger, fourth, key: true) == [])
    }

    @Test func picturesShownBeforeTheCleanStartStayTainted() {
        var ledger = UnitLedger()
        #expect(comeOut(&ledger, ledger.sent(id: 0, unit(refresh: true), []), key: true) == [])
        // Lost: a reference. Then an open group: I3 is decoded before B1 and B2, which are shown before it.
        let i3 = ledger.sent(id: 3, unit(recovery: 0), .followsGap)
        let b1 = ledger.sent(id: 1, unit(reference: false), [])
        #expect(comeOut(&ledger, b1) == .reference)
        let b2 = ledger.sent(id: 2, unit(reference: false), [])
        #expect(comeOut(&ledger, b2) == .reference)
        #expect(comeOut(&ledger, i3, key: true) == [])
        #expect(comeOut(&ledger, ledger.sent(id: 4, unit(), [])) == [])
    }

    @Test func damageToAPictureNobodyRefersToEndsWithIt() {
        var ledger = UnitLedger()
        #expect(comeOut(&ledger, ledger.sent(id: 0, unit(refresh: true), []), key: true) == [])
        #expect(comeOut(&ledger, ledger.sent(id: 1, unit(reference: false), .isDamaged)) == .concealed)
        #expect(comeOut(&ledger, ledger.sent(id: 2, unit(reference: false), []), concealed: true) == .concealed)
        #expect(comeOut(&ledger, ledger.sent(id: 3, unit(), [])) == [])
    }

    @Test func concealmentSeenLateTaintsUnitsAlreadyInside() {
        var ledger = UnitLedger()
        #expect(comeOut(&ledger, ledger.sent(id: 0, unit(refresh: true), []), key: true) == [])
        let damaged = ledger.sent(id: 1, unit(), [])
        let inside = ledger.sent(id: 2, unit(), [])
        let clean = ledger.sent(id: 3, unit(refresh: true), [])
        #expect(comeOut(&ledger, damaged, concealed: true) == .concealed)
        #expect(comeOut(&ledger, inside) == .reference)
        #expect(comeOut(&ledger, clean, key: true) == [])
        #expect(comeOut(&ledger, ledger.sent(id: 4, unit(), [])) == [])
    }

    @Test func aPictureThatComesOutAfterItWasLostIsRefused() {
        var ledger = UnitLedger()
        let old = ledger.sent(id: 0, unit(refresh: true), [])
        for i in 1...50 {
            _ = comeOut(&ledger, ledger.sent(id: Int64(i), unit(), []))
            ledger.settled(holdsNothing: false, isEnd: false)
            while ledger.popLost() != nil {}
        }
        #expect(comeOut(&ledger, old) == nil)
        #expect(comeOut(&ledger, 49) == nil, "out a second time")
        #expect(comeOut(&ledger, 12345) == nil)
        #expect(ledger.unresolvedCount == 0)
    }
}

extension UnitLedger {
    /// Units that have neither come out nor been reported lost.
    var unresolvedCount: Int { pendingCount + lostCount }
}

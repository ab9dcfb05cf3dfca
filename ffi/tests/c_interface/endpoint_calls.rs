//! The calls of endpoints: requests, blocks, queries and watches, and what a host does for outputs.
//!
//! A host may supply rows that nothing needs, other ones, and too few, and end a commit that it
//! did not make.

use core::{ptr, slice};

use milepost_ffi::endpoint::*;
use milepost_ffi::error::*;
use milepost_ffi::output::*;
use milepost_ffi::status::MILEPOST_STATUS_OK;
use milepost_ffi::storage::{milepost_change, milepost_row};
use milepost_ffi::value::milepost_bytes;

use super::calls::Program;
use super::handles::{call, check, sized, text};

impl Program<'_> {
    pub(crate) fn make_endpoint(&mut self) {
        let engine = self.engines.pick(&mut self.input);
        let settings = self.settings.pick(&mut self.input);
        let mut endpoint = ptr::null_mut();
        call!(self, milepost_endpoint_new(engine, settings, &mut endpoint));
        self.endpoints.add(endpoint);
    }

    pub(crate) fn handle_request(&mut self) {
        let (endpoint, body) = (self.endpoints.pick(&mut self.input), self.input.text());
        let (now, timeout) = (self.input.number(), self.input.number());
        let (mut handle, mut response) = (0, ptr::null_mut());
        let (data, length) = (body.as_ptr(), body.len());
        call!(
            self,
            milepost_endpoint_handle_request(
                endpoint,
                now,
                timeout,
                data,
                length,
                ptr::null(),
                0,
                &mut handle,
                &mut response,
            )
        );
        self.check_body(response);
        self.responses.add(response);
    }

    pub(crate) fn handle_block(&mut self) {
        let (endpoint, message) = (self.endpoints.pick(&mut self.input), self.input.text());
        let (mut handle, mut summary) = (0, ptr::null_mut());
        let (data, length) = (message.as_ptr(), message.len());
        match self.input.below(4) {
            0 => {
                let (epoch_id, height) = (self.epoch_id(), self.input.number());
                let epoch_id = epoch_id.as_ref().map_or(ptr::null(), ptr::from_ref);
                call!(
                    self,
                    milepost_endpoint_handle_config(
                        endpoint,
                        epoch_id,
                        height,
                        data,
                        length,
                        &mut handle
                    )
                );
            }
            _ => {
                call!(
                    self,
                    milepost_endpoint_handle_block(
                        endpoint,
                        data,
                        length,
                        &mut handle,
                        &mut summary,
                    )
                );
            }
        }
        self.summaries.add(summary);
    }

    pub(crate) fn handle_query(&mut self) {
        let endpoint = self.endpoints.pick(&mut self.input);
        let mut handle = 0;
        match self.input.below(3) {
            0 => {
                call!(self, milepost_endpoint_handle_chain_query(endpoint, &mut handle));
            }
            1 => {
                let (hash, block) = (self.input.hash(), self.input.text());
                let (data, length) = (block.as_ptr(), block.len());
                call!(
                    self,
                    milepost_endpoint_handle_proof_query(
                        endpoint,
                        &hash,
                        data,
                        length,
                        &mut handle,
                    )
                );
            }
            _ => {
                let hash = self.input.hash();
                let (until, result) = (self.input.below(9) as i32, self.input.below(2) as i32);
                call!(self, milepost_endpoint_watch(endpoint, &hash, until, result, &mut handle));
            }
        }
    }

    pub(crate) fn poll(&mut self) {
        let endpoint = self.endpoints.pick(&mut self.input);
        let mut output: milepost_output = sized();
        if !call!(self, milepost_endpoint_poll_output(endpoint, &mut output)) {
            return;
        }
        // SAFETY: what an output points to is valid until the endpoint is used again.
        unsafe {
            text(output.event_id);
            text(output.compact_status);
            if output.keys_len > 0 {
                for key in slice::from_raw_parts(output.keys, output.keys_len) {
                    assert!((2..=33).contains(&key.len));
                    let _ = slice::from_raw_parts(key.data, key.len).to_vec();
                }
            }
            if output.changes_len > 0 {
                let changes = slice::from_raw_parts(output.changes, output.changes_len);
                for milepost_change { key, row, .. } in changes {
                    let _ = slice::from_raw_parts(key.data, key.len).to_vec();
                    if row.len > 0 {
                        let _ = slice::from_raw_parts(row.data, row.len).to_vec();
                    }
                }
            }
        }
        self.needs.push((output.handle, output.keys_len));
        self.check_body(output.response);
        self.responses.add(output.response);
        self.summaries.add(output.summary);
        self.chains.add(output.chain_status);
        self.proofs.add(output.proof);
        if !output.error.is_null() {
            let mut view: milepost_error_view = sized();
            // SAFETY: the error belongs to this host, which frees it once.
            unsafe {
                assert_eq!(milepost_error_read(output.error, &mut view), MILEPOST_STATUS_OK);
                milepost_error_free(output.error);
            }
        }
    }

    /// An operation that an endpoint waits for, or another one
    fn need(&mut self) -> (u64, usize) {
        match self.needs.pop() {
            Some(need) if !self.input.is_rare() => need,
            _ => (self.input.number(), self.input.below(4)),
        }
    }

    pub(crate) fn supply_rows(&mut self) {
        let endpoint = self.endpoints.pick(&mut self.input);
        let (handle, count) = self.need();
        if self.input.is_rare() {
            let reason = self.input.text();
            call!(
                self,
                milepost_endpoint_fail_rows(endpoint, handle, reason.as_ptr(), reason.len())
            );
            return;
        }
        let texts: Vec<Vec<u8>> = (0..count).map(|_| self.input.text()).collect();
        let rows: Vec<milepost_row> = texts
            .iter()
            .map(|text| {
                let bytes = milepost_bytes { data: text.as_ptr(), len: text.len() };
                milepost_row { bytes, present: i32::from(self.input.is_rare()) }
            })
            .collect();
        let (data, length) = (rows.as_ptr(), rows.len());
        call!(self, milepost_endpoint_handle_rows(endpoint, handle, data, length));
    }

    pub(crate) fn end_commit(&mut self) {
        let endpoint = self.endpoints.pick(&mut self.input);
        let ((handle, _), committed) = (self.need(), i32::from(!self.input.is_rare()));
        let reason = self.input.text();
        let (data, length) = (reason.as_ptr(), reason.len());
        call!(
            self,
            milepost_endpoint_handle_commit_result(endpoint, handle, committed, data, length)
        );
    }

    pub(crate) fn advance_time(&mut self) {
        let endpoint = self.endpoints.pick(&mut self.input);
        let (mut timeout, mut count, mut was_pending) = (0, 0, 0);
        let now = self.input.number();
        match self.input.below(8) {
            0 => {
                call!(self, milepost_endpoint_shutdown(endpoint));
            }
            1 => {
                let (handle, _) = self.need();
                call!(self, milepost_endpoint_cancel(endpoint, handle, &mut was_pending));
            }
            _ => {
                call!(self, milepost_endpoint_handle_timeout(endpoint, now));
            }
        }
        call!(self, milepost_endpoint_next_timeout(endpoint, &mut timeout));
        call!(self, milepost_endpoint_pending_count(endpoint, &mut count));
    }
}
